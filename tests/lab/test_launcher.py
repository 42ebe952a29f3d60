"""The launcher, the dispatcher and the Makefile: no network, no real environment."""

import ast
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "lessons" / "__main__.py"


@pytest.fixture
def launcher() -> Iterator[ModuleType]:
    """The launcher as a module, under a name of its own."""
    specification = importlib.util.spec_from_file_location("launcher_under_test", LAUNCHER)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    yield module


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small copy of the repository: the launcher, the kit, one command that echoes."""
    lessons = tmp_path / "a house" / "lessons"
    (lessons / "kit" / "commands").mkdir(parents=True)
    (lessons.parent / "test").touch()
    (lessons.parent / "tests").mkdir()
    for name in ("__init__.py", "__main__.py", "kit/__init__.py", "kit/__main__.py"):
        shutil.copy(ROOT / "lessons" / name, lessons / name)
    for name in ("help", "doctor"):
        shutil.copy(ROOT / f"lessons/kit/commands/{name}.py", lessons / "kit" / "commands")
    (lessons / "kit" / "commands" / "test.py").write_text(
        "SUMMARY = 'echo'\nOPTIONS = {'TEXT': 'what to print', 'FAIL': 'an exception'}\n"
        "def run(options):\n"
        "    if 'FAIL' in options:\n        raise {'int': KeyboardInterrupt}[options['FAIL']]\n"
        "    print(repr(options.get('TEXT')))\n    return 3\n"
    )
    shutil.copy(ROOT / "Makefile", lessons.parent)
    (lessons.parent / "requirements.lock").write_text("# group: core\nsix==1.17.0\n")
    return lessons.parent


@pytest.fixture
def small_index(tmp_path: Path, house: Path) -> Path:
    """A folder with one wheel, which the lock of `house` pins."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "SIZE = 1\n")
        wheel.writestr(
            "tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        )
        wheel.writestr(
            "tiny-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\n")
    digest = hashlib.sha256((folder / "tiny-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    lock = f"# group: core\ntiny==1.0 --hash=sha256:{digest}\n"
    (house / "requirements.lock").write_text(lock)
    return folder


def pretend_ready(launcher: ModuleType, venv: Path, house: Path) -> None:
    """Make `venv` look as if everything had been installed."""
    stamps = venv / launcher.STAMPS
    stamps.mkdir(parents=True)
    (stamps / "venv").write_text(launcher.python_tag())
    text = launcher.sections((house / "requirements.lock").read_text())["core"]
    (stamps / "core").write_text(launcher.stamp_of(text))
    paths = launcher.path_file(venv)
    paths.parent.mkdir(parents=True)
    paths.write_text(f"{house / 'lessons'}\n{house / 'tests'}\n")
    python = launcher.python_of(venv)
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\nexport PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}{house / "lessons"}"\n'
        f"exec '{sys.executable}' \"$@\"\n"
    )
    python.chmod(0o755)


def call(house: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the launcher of `house`."""
    environment = {**os.environ, "LAB_VENV": str(house / "venv"), **more}
    return subprocess.run(
        [sys.executable, "-m", "lessons", *words],
        cwd=house, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def make(house: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run make in `house`, without what an outer make has left in the environment."""
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKEOVERRIDES")}
    environment["LAB_VENV"] = str(house / "venv")
    return subprocess.run(
        ["make", "-s", f"PYTHON={shlex.quote(sys.executable)}", *words],
        cwd=house, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
PYENV = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
not_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere"
)


def test_each_group_of_the_lock_is_complete_by_itself(launcher: ModuleType) -> None:
    texts = launcher.sections((ROOT / "requirements.lock").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert list(texts) == list(project["dependency-groups"])
    assert "\nanyio==" in "\n" + texts["interop"]
    assert "\npytest==" in "\n" + texts["notebook"]


def test_every_package_of_the_lock_stands_in_one_group_with_hashes() -> None:
    seen: dict[str, str] = {}
    for section in (ROOT / "requirements.lock").read_text().split("# group: ")[1:]:
        group, _, body = section.partition("\n")
        for entry in ("\n" + body).replace("\\\n", "").split("\n"):
            if entry and not entry.startswith("#"):
                assert "--hash=sha256:" in entry
                assert seen.setdefault(entry.partition("==")[0], group) == group


def test_the_lock_names_no_index() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_a_command_gets_the_groups_that_it_needs(launcher: ModuleType) -> None:
    assert launcher.groups_of("test", {}) == ["core"]
    assert {"notebook", "dev"} < set(launcher.groups_of("prove", {}))
    assert launcher.groups_of("demo", {"CLIENT": "sdk"}) == ["core", "interop"]


def test_a_ready_environment_is_entered_and_its_status_returned(
    launcher: ModuleType, house: Path
) -> None:
    pretend_ready(launcher, house / "venv", house)
    done = call(house, "test", "TEXT=a b")
    assert (done.returncode, done.stdout, done.stderr) == (3, "'a b'\n", "")


def test_what_lies_on_the_python_path_does_not_come_before_the_lab(
    launcher: ModuleType, house: Path, tmp_path: Path
) -> None:
    pretend_ready(launcher, house / "venv", house)
    (tmp_path / "kit.py").write_text("raise SystemExit('not the lab')")
    assert call(house, "test", PYTHONPATH=str(tmp_path)).returncode == 3


def test_stale_paths_are_repaired_without_installing(launcher: ModuleType, house: Path) -> None:
    pretend_ready(launcher, house / "venv", house)
    launcher.path_file(house / "venv").write_text("/elsewhere/lessons\n/elsewhere/tests\n")
    assert call(house, "test").returncode == 3
    lines = launcher.path_file(house / "venv").read_text().splitlines()
    assert lines == [str(house / "lessons"), str(house / "tests")]


def test_a_group_that_was_cut_short_is_unpacked_again_and_nothing_else_is_lost(
    launcher: ModuleType, house: Path, small_index: Path
) -> None:
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(small_index)}
    made = call(house, "test", **index)
    stamps, packages = house / "venv" / launcher.STAMPS, launcher.path_file(house / "venv").parent
    assert (made.returncode, (packages / "tiny.py").read_text()) == (3, "SIZE = 1\n")
    assert "core: 1 package\n" in made.stderr and made.stdout == "None\n"

    (stamps / "core").unlink()
    (stamps / "core.unpacking").touch()
    (packages / "tiny.py").write_text("SIZ")
    (packages / "mine.py").touch()
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_FIND_LINKS": ""}
    failed = call(house, "test", **nowhere)
    assert failed.returncode == 1 and "index cannot be reached" in failed.stderr.splitlines()[-1]
    doctor = call(house, "doctor", **nowhere)
    assert doctor.returncode == 1 and "group core       missing" in doctor.stdout

    again = call(house, "test", **index)
    assert (again.returncode, (packages / "tiny.py").read_text()) == (3, "SIZE = 1\n")
    assert (packages / "mine.py").exists() and not (stamps / "core.unpacking").exists()
    later = call(house, "test", **nowhere)
    assert (later.returncode, later.stderr) == (3, "")


def test_a_folder_that_the_lab_did_not_make_is_left_alone(house: Path) -> None:
    (house / "venv").mkdir()
    (house / "venv" / "thesis.txt").write_text("years of work")
    done = call(house, "test")
    assert done.returncode == 1 and "left alone" in done.stderr
    assert [path.name for path in (house / "venv").iterdir()] == ["thesis.txt"]


def test_a_file_in_place_of_the_folder_is_one_sentence(house: Path) -> None:
    (house / "venv").write_text("")
    done = call(house, "test")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@not_root
def test_a_read_only_folder_is_one_sentence(house: Path) -> None:
    (house / "locked").mkdir(mode=0o500)
    done = call(house, "test", LAB_VENV=str(house / "locked" / "venv"))
    assert done.returncode == 1 and "LAB_VENV" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("Failed to establish a new connection: [Errno 111]", "try again when there is a network"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "differs from the one"),
    ],
)
def test_what_pip_says_becomes_one_sentence(launcher: ModuleType, output: str, words: str) -> None:
    sentence = launcher.explain("The group core could not be installed", output)
    assert words in sentence and "\n" not in sentence


def test_an_unknown_failure_of_pip_shows_its_last_lines(launcher: ModuleType) -> None:
    output = "\n".join(f"line {number}" for number in range(50))
    assert launcher.explain("It failed", output).splitlines()[-1].strip() == "line 49"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tset"], "There is no command tset; did you mean test?"),
        (["zzzz"], "There is no command zzzz; `make help` lists what there is."),
    ],
)
def test_an_unknown_command_is_refused_before_anything_is_made(
    house: Path, words: list[str], sentence: str
) -> None:
    done = call(house, *words)
    assert (done.returncode, done.stderr) == (2, sentence + "\n")
    assert not (house / "venv").exists()


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("TXT=1", "test has no option TXT (it knows TEXT, FAIL); did you mean TEXT?"),
        ("text", "An option is written NAME=value, not text; `make help` lists what there is."),
    ],
)
def test_a_wrong_option_is_refused(
    launcher: ModuleType, house: Path, word: str, sentence: str
) -> None:
    pretend_ready(launcher, house / "venv", house)
    done = call(house, "test", word)
    assert (done.returncode, done.stderr) == (2, sentence + "\n")


def test_an_interrupt_ends_with_130_and_no_traceback(launcher: ModuleType, house: Path) -> None:
    pretend_ready(launcher, house / "venv", house)
    done = call(house, "test", "FAIL=int")
    assert done.returncode == 130 and "Traceback" not in done.stderr


def test_help_lists_every_command_without_an_environment(house: Path) -> None:
    done = call(house)
    assert done.returncode == 0 and not (house / "venv").exists()
    assert all(f"make {name}" in done.stdout for name in ("doctor", "help", "test"))


@needs_make
@pytest.mark.parametrize("value", ["plain", "a b", "it's", 'say "no"', "a;b", "a=b", "*"])
def test_make_hands_a_value_on_as_it_is(launcher: ModuleType, house: Path, value: str) -> None:
    pretend_ready(launcher, house / "venv", house)
    done = make(house, "test", f"TEXT={value}")
    assert done.stdout == repr(value) + "\n"


@needs_make
def test_make_without_a_command_is_help(house: Path) -> None:
    done = make(house)
    assert done.returncode == 0 and "make test" in done.stdout


@needs_make
@pytest.mark.parametrize("name", ["lessons", "tests", "hepl"])
def test_make_refuses_what_is_no_command(house: Path, name: str) -> None:
    done = make(house, name)
    assert done.returncode == 2 and f"There is no command {name}" in done.stderr


def test_an_older_python_is_told_so_in_one_sentence(house: Path) -> None:
    older = next((str(path) for path in sorted(PYENV.glob("3.[89].*/bin/python3"))), None)
    if older is None:
        pytest.skip("there is no Python 3.8 or 3.9 here")
    done = subprocess.run(
        [older, "-m", "lessons", "test"], cwd=house, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("The lab needs Python 3.11 or newer, and this is 3.")


def test_the_launcher_can_be_read_by_an_older_python() -> None:
    for path in (LAUNCHER, LAUNCHER.with_name("__init__.py")):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))

"""``make doctor``: what this machine has, and which steps need it.

Only the standard library is used: the doctor must be able to speak when nothing could be installed.
"""

import ctypes
import errno
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SUMMARY = "say what this machine has, and which steps need it"
OPTIONS: dict[str, str] = {}

ROOT = Path(__file__).resolve().parents[3]
OK, MISSING, ELSEWHERE = "ok", "missing", "not on this platform"

LINUX = sys.platform == "linux"
LANDLOCK_CREATE_RULESET = 444  # the same number on every Linux architecture
OPENAT2 = 437
LANDLOCK_ASK_VERSION = 1
RESOLVE_BENEATH = 0x08
CLONE = {"user": 0x10000000, "net": 0x40000000, "pid": 0x20000000}

GROUPS = {  # group: a module that only it brings, and what it is for
    "core": ("pydantic", "every step"),
    "notebook": ("nbclient", "make lab, make notebooks, make prove"),
    "interop": ("mcp", "make demo CLIENT=sdk"),
    "dev": ("mypy", "make prove"),
    "scale": ("psycopg", "step 14"),
    "class": ("distributed", "grading a class on several machines"),
    "browser": ("selenium", "step 08, the browser test"),
}

Finding = tuple[str, str]
"""The word, then the detail."""


def run(options: dict[str, str]) -> int:
    """Print one line for each finding; 1 when something that every step needs is missing."""
    broken = False
    for name, needed_by, is_core, look in looks():
        try:
            word, detail = look()
        except OSError as trouble:
            word, detail = MISSING, trouble.strerror or str(trouble)
        broken |= is_core and word != OK
        print(f"{name:<16} {word:<20}  {detail}{'; ' if detail else ''}for {needed_by}")
    print("Something that every step needs is missing." if broken else "Every step can start.")
    return int(broken)


def looks() -> list[tuple[str, str, bool, Callable[[], Finding]]]:
    """What to look at: name, who needs it, whether every step does, and how to look."""
    groups = [
        (f"group {group}", use, group == "core", lambda group=group: group_is_there(group))
        for group, (_, use) in GROUPS.items()
    ]
    return [
        ("Python", "every step", True, python_is_new),
        ("environment", "every step", True, environment_is_used),
        *groups,
        ("git", "make submit", False, lambda: program("git", "--version")),
        ("make", "short commands; python3 -m lessons does the same", False, make_is_there),
        ("symbolic links", "steps 09 and 10", False, symlinks_work),
        ("openat2", "step 09, the kernel's own check", False, openat2_works),
        ("Landlock", "step 11", False, landlock_abi),
        *[
            (f"{kind} namespace", "step 11", False, lambda kind=kind: namespace_works(kind))
            for kind in CLONE
        ],
        ("chromium", "step 08, the browser test", False, chromium_is_there),
        ("node", "the TypeScript client", False, lambda: program("node", "--version")),
        ("docker", "nobody; a dev container is one way to run the lab", False, docker_is_there),
        ("free disk", "every group together take about 1 GB", False, disk_is_free),
    ]


def python_is_new() -> Finding:
    """Whether this Python is one the lab is made for."""
    return (OK if sys.version_info >= (3, 11) else MISSING), platform.python_version()


def environment_is_used() -> Finding:
    """Whether the lab's own environment runs this, and no other Python."""
    return (OK, sys.prefix) if is_inside() else (MISSING, "run: make doctor, with a network")


def is_inside() -> bool:
    """Whether the Python that runs this is that of the lab's environment."""
    return (
        Path(sys.prefix).resolve() == Path(os.environ.get("LAB_VENV") or ROOT / ".venv").resolve()
    )


def group_is_there(group: str) -> Finding:
    """Whether a group of packages is installed, in the lab's environment and not beside it."""
    if is_inside() and importlib.util.find_spec(GROUPS[group][0]) is not None:
        return OK, ""
    return MISSING, f"its command installs it, or LAB_GROUPS={group} make doctor"


def program(name: str, *arguments: str) -> Finding:
    """Whether a program starts; its version as the detail."""
    path = shutil.which(name)
    if path is None:
        return MISSING, ""
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return MISSING, f"{path} does not answer"
    return (OK if done.returncode == 0 else MISSING), (done.stdout.splitlines() or [""])[0].strip()


def make_is_there() -> Finding:
    """Whether make is there."""
    return program("make", "--version")


def docker_is_there() -> Finding:
    """Whether there is Docker; the lab is whole without it."""
    word, detail = program("docker", "--version")
    return (word, detail) if word == OK else (OK, "not here")


def chromium_is_there() -> Finding:
    """Whether a Chromium and its driver are there."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            word, detail = program(name, "--version")
            if shutil.which("chromedriver") is None:
                return MISSING, f"{detail}, but no chromedriver"
            return word, detail
    return MISSING, ""


def symlinks_work() -> Finding:
    """Whether this file system and user may make symbolic links."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink("nowhere", Path(folder) / "link")
    return OK, ""


def disk_is_free() -> Finding:
    """Whether the disk has room for every group."""
    free = shutil.disk_usage(ROOT).free / 1e9
    return (OK if free > 1.5 else MISSING), f"{free:.1f} GB"


def openat2_works() -> Finding:
    """Whether the kernel resolves a path beneath a folder by itself (Linux 5.6, openat2(2))."""
    if not LINUX:
        return ELSEWHERE, ""
    how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC, 0, RESOLVE_BENEATH)
    folder = os.open(ROOT, os.O_PATH)
    try:
        opened = system_call(OPENAT2, folder, b"lessons", ctypes.byref(how), ctypes.sizeof(how))
    finally:
        os.close(folder)
    os.close(opened)
    return OK, ""


def landlock_abi() -> Finding:
    """The Landlock ABI of the kernel (landlock_create_ruleset(2))."""
    if not LINUX:
        return ELSEWHERE, ""
    try:
        abi = system_call(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_ASK_VERSION)
    except OSError as trouble:
        why = {errno.ENOSYS: "not built into this kernel", errno.EOPNOTSUPP: "switched off at boot"}
        return MISSING, why.get(trouble.errno or 0, trouble.strerror or "")
    return OK, f"ABI {abi}"


def namespace_works(kind: str) -> Finding:
    """Whether a process may enter a new namespace, beside a new user namespace (unshare(2))."""
    if not LINUX:
        return ELSEWHERE, ""
    code = (
        "import ctypes, os, sys; libc = ctypes.CDLL(None, use_errno=True); "
        "failed = libc.unshare(int(sys.argv[1])); "
        "sys.exit(os.strerror(ctypes.get_errno()) if failed else 0)"
    )
    flags = CLONE["user"] | CLONE[kind]
    probe = [sys.executable, "-I", "-S", "-c", code, str(flags)]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=20)
    return (OK if done.returncode == 0 else MISSING), done.stderr.strip()


def system_call(number: int, *arguments: object) -> int:
    """Call the kernel by number. Errors: OSError with the kernel's errno."""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(syscall(ctypes.c_long(number), *words))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result

"""The launcher: `python3 -m lessons <command> NAME=value ...`, which is `make <command> ...`.

It needs nothing but Python. It makes the virtual environment, installs what the command needs from
`requirements.lock`, and then becomes `python -m kit <command>`. When nothing has to be installed it
uses no network and writes nothing. It speaks on stderr only: stdout belongs to the command.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python must be told so
    import os

    found = ".".join(str(number) for number in sys.version_info[:3])
    other = "python3.12"
    for name in ("python3.14", "python3.11", "python3.12", "python3.13"):
        folders = os.environ.get("PATH", "").split(os.pathsep)
        if any(os.access(os.path.join(folder, name), os.X_OK) for folder in folders):
            other = name
    found += "; name another one, as in: make PYTHON=" + other
    sys.exit("The lab needs Python 3.11 or newer, and this is " + found)

import contextlib
import errno
import os
import time
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
COMMANDS = ROOT / "lessons" / "kit" / "commands"
STAMPS = "lab-stamps"
TALK_EVERY = 2.0  # seconds between two lines of progress
MARK = "# group: "
SHARED = "# with: "

NO_GROUP = ("help", "lock")  # these two need no environment
GROUPS = {
    "bench": "interop bench",
    "browser": "browser",
    "lab": "notebook",
    "notebooks": "notebook",
    "prove": "notebook dev interop bench",
}
GROUPS_BY_OPTION = {
    ("demo", "CLIENT", "sdk"): "interop",
    ("soak", "WHAT", "flakes"): GROUPS["prove"],
}

NETWORK_SIGNS = (
    "Failed to establish a new connection",
    "NameResolutionError",
    "Temporary failure in name resolution",
    "Name or service not known",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Read timed out",
    "ProxyError",
    "Cannot connect to proxy",
    "ConnectionResetError",
    "Connection broken",
    "Connection aborted",
    "SSLError",
    "Network is unreachable",
)


class CannotPrepare(Exception):
    """The environment cannot be made; the message is one sentence for the learner."""


def main(words: list[str]) -> int:
    """Prepare what the command in `words` needs and run it. Returns the exit status."""
    command = words[0] if words else "help"
    options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    if command in NO_GROUP or not (COMMANDS / f"{command}.py").is_file():
        return run_here(words)  # `help`, or a name that is refused with a suggestion
    venv = Path(os.environ.get("LAB_VENV") or ROOT / ".venv").absolute()
    try:
        prepare(venv, groups_of(command, options))
    except CannotPrepare as trouble:
        print(trouble, file=sys.stderr)
        return run_here(words) if command == "doctor" else 1
    return become(venv, words)


def groups_of(command: str, options: dict[str, str]) -> list[str]:
    """The groups that a command needs, core first; LAB_GROUPS in the environment adds more."""
    names = ["core", *GROUPS.get(command, "").split()]
    for (name, option, value), more in GROUPS_BY_OPTION.items():
        if name == command and options.get(option) == value:
            names += more.split()
    names += os.environ.get("LAB_GROUPS", "").replace(",", " ").split()
    return list(dict.fromkeys(names))


def prepare(venv: Path, groups: list[str]) -> None:
    """Make `venv` hold `groups`. Errors: CannotPrepare."""
    try:
        texts = sections(LOCK.read_text(encoding="utf-8"))
        for group in groups:
            if group not in texts:
                raise CannotPrepare(f"There is no group {group}; there are {', '.join(texts)}.")
        if is_ready(venv, groups, texts):
            return
        claim_folder(venv)
        with only_one(venv / STAMPS / "lock") as lock:
            if not is_ready(venv, groups, texts):
                build(venv, groups, texts, lock)
    except OSError as trouble:
        raise CannotPrepare(sentence_for(trouble, venv)) from None


def sections(lock: str) -> dict[str, str]:
    """Cut the lock into groups: name to the requirements that it installs.

    A package stands in the first group that needs it; a later group names it in its `# with:` line.
    """
    texts = {}
    for part in lock.split(MARK)[1:]:
        name, _, body = part.partition("\n")
        texts[name.strip()] = body
    entries: dict[str, str] = {}
    if any(SHARED in body for body in texts.values()):
        for body in texts.values():
            for entry in ("\n" + body).replace("\\\n", "\0").split("\n"):
                if "==" in entry and not entry.startswith("#"):
                    name = entry.partition("==")[0]
                    line = entry.replace("\0", "\\\n")
                    entries[name] = entries.get(name, "") + line + "\n"
    for group, body in texts.items():
        first, _, rest = body.partition("\n")
        if first.startswith(SHARED):
            names = first.removeprefix(SHARED).split()
            texts[group] = "".join(entries[name] for name in names) + rest
    return texts


def stamp_of(text: str) -> str:
    """What the stamp of a group says: for which Python, and which requirements."""
    return f"{python_tag()} {sha256(text.encode()).hexdigest()}"


def python_tag() -> str:
    """Python version and platform; a folder shared with a container must not be taken for ours."""
    if hasattr(os, "uname"):
        machine = os.uname().machine
    else:
        machine = os.environ.get("PROCESSOR_ARCHITECTURE", "")
    return f"{sys.implementation.cache_tag}-{sys.platform}-{machine}"


def is_ready(venv: Path, groups: list[str], texts: dict[str, str]) -> bool:
    """Whether nothing has to be written."""
    return (
        base_is_ready(venv)
        and read(path_file(venv)) == path_lines()
        and all(read(venv / STAMPS / group) == stamp_of(texts[group]) for group in groups)
    )


def base_is_ready(venv: Path) -> bool:
    """Whether the environment itself is whole, and of this Python."""
    return read(venv / STAMPS / "venv") == python_tag() and os.access(python_of(venv), os.X_OK)


def claim_folder(venv: Path) -> None:
    """Mark `venv` as ours, so that it may be emptied. Errors: CannotPrepare for a foreign one."""
    if venv.is_dir() and any(venv.iterdir()) and not (venv / STAMPS).is_dir():
        raise CannotPrepare(
            f"{venv} was not made by the lab and is left alone: "
            "move it away, or name another folder with LAB_VENV."
        )
    (venv / STAMPS).mkdir(parents=True, exist_ok=True)


def build(venv: Path, groups: list[str], texts: dict[str, str], lock: int) -> None:
    """Make the environment where it is missing or broken, and install the groups it lacks.

    lock: the descriptor of the lock, which pip inherits: it goes on when the launcher is killed.
    """
    if not base_is_ready(venv):
        make_venv(venv)
    if read(path_file(venv)) != path_lines():
        write(path_file(venv), path_lines())
    for group in groups:
        if read(venv / STAMPS / group) != stamp_of(texts[group]):
            install(venv, group, texts[group], lock)


def make_venv(venv: Path) -> None:
    """Empty `venv` and make it anew."""
    import shutil
    import subprocess

    say(f"Preparing {shown(venv)} (once; later runs need no network).")
    started = time.monotonic()
    for old in venv.iterdir():
        if old.name != STAMPS:
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    for old in (venv / STAMPS).iterdir():
        if old.name != "lock":
            old.unlink()
    base = getattr(sys, "_base_executable", "") or sys.executable
    made = subprocess.run(
        [base, "-m", "venv", os.fspath(venv)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=clean_environment(),
        text=True,
        errors="replace",
    )
    if made.returncode:
        if shutil.disk_usage(venv).free < 50_000_000:  # venv does not say what went wrong inside
            raise CannotPrepare(f"The disk is too full for {shown(venv)}.")
        if "ensurepip" in made.stdout:
            raise CannotPrepare(
                "This Python comes without venv or pip; on Debian and Ubuntu, "
                "`apt install python3-venv` brings them."
            )
        raise CannotPrepare(explain("The environment could not be made", made.stdout))
    write(venv / STAMPS / "venv", python_tag())
    say(f"  python {sys.version.split()[0]}: ready after {time.monotonic() - started:.0f} s")


def install(venv: Path, group: str, text: str, lock: int) -> None:
    """Install one group with pip, counting aloud. Errors: CannotPrepare.

    While pip unpacks, a file says so. Where one is found, that run was cut short, and all packages
    of the group are unpacked again, whatever pip thinks of them.
    """
    import subprocess

    started = time.monotonic()
    wanted = sum("==" in line and line[0].isalnum() for line in text.splitlines())
    requirements, torn = venv / STAMPS / f"{group}.txt", venv / STAMPS / f"{group}.unpacking"
    write(requirements, text)
    say(f"  {group}: {wanted} package{'s' if wanted > 1 else ''}")
    pip = subprocess.Popen(
        [python_of(venv), "-m", "pip", "install", "--require-hashes", "--no-deps",
         "--only-binary=:all:", "--progress-bar=off", "--no-input", "--retries=2",
         "--disable-pip-version-check", "-r", requirements,
         *(["--ignore-installed"] if torn.exists() else [])],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**clean_environment(), "PYTHONUNBUFFERED": "1"}, text=True, errors="replace",
        pass_fds=() if os.name == "nt" else (lock,),
    )  # fmt: skip
    assert pip.stdout is not None
    lines, fetched, silent_since = [], 0, started
    try:
        for line in pip.stdout:
            lines.append(line)
            if line.startswith("Collecting "):
                fetched += 1
                what = f"{fetched} of {wanted}, {line.split()[1]}"
            elif line.startswith("Installing collected packages"):
                (venv / STAMPS / group).unlink(missing_ok=True)
                write(torn, "")
                what = "unpacking"
            else:
                continue
            now = time.monotonic()
            if now - silent_since >= TALK_EVERY:
                say(f"    {now - started:.0f} s: {what}")
                silent_since = now
        status = pip.wait()
    except BaseException:
        pip.terminate()
        pip.wait()
        raise
    if status < 0:
        raise CannotPrepare(f"The group {group} was stopped half-way; run it again.")
    if status:
        raise CannotPrepare(explain(f"The group {group} could not be installed", "".join(lines)))
    write(venv / STAMPS / group, stamp_of(text))
    torn.unlink(missing_ok=True)
    say(f"  {group}: ready after {time.monotonic() - started:.0f} s")


def explain(what: str, output: str) -> str:
    """One sentence for a known cause; for an unknown one the last lines of `output` too."""
    if "No space left on device" in output or "Errno 28" in output:
        return f"{what}: the disk is full."
    if "DO NOT MATCH THE HASHES" in output:
        return f"{what}: a package differs from the one that requirements.lock pins."
    if any(sign in output for sign in NETWORK_SIGNS):
        return f"{what}: the package index cannot be reached; try again when there is a network."
    last = [line for line in output.splitlines() if line.strip()][-8:]
    return "\n    ".join([f"{what}:", *last])


def sentence_for(trouble: OSError, venv: Path) -> str:
    """One sentence for what the file system refused."""
    if trouble.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full, so {shown(venv)} cannot be made."
    if trouble.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return (
            f"{trouble.filename or venv} cannot be written; "
            "name a folder of your own with LAB_VENV, as in: LAB_VENV=~/lab-venv make test"
        )
    return f"{shown(venv)} cannot be used: {trouble.strerror or trouble} ({trouble.filename})."


@contextlib.contextmanager
def only_one(path: Path):
    """Hold the lock at `path` and give its descriptor; it is let go of when all holders end."""
    with open(path, "a+b") as file:
        if os.name == "nt":
            import msvcrt

            while True:
                with contextlib.suppress(OSError):
                    file.seek(0)
                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                    break
                time.sleep(0.5)
        else:
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("Another command is preparing the environment; waiting for it.")
                fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def python_of(venv: Path) -> Path:
    """The interpreter of an environment."""
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def path_file(venv: Path) -> Path:
    """The file that puts the kit and the grading on the import path."""
    if os.name == "nt":
        return venv / "Lib" / "site-packages" / "lab.pth"
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return venv / "lib" / version / "site-packages" / "lab.pth"


def path_lines() -> str:
    """The lines of that file; absolute, so they are stale once the repository has moved."""
    return f"{ROOT / 'lessons'}\n{ROOT / 'tests'}\n"


def read(path: Path) -> str | None:
    """The text of a file, or None when it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def write(path: Path, text: str) -> None:
    """Replace a file as a whole, so that a crash leaves the old one or the new one."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(text.encode("utf-8", "surrogateescape"))
    fresh.replace(path)


def clean_environment() -> dict[str, str]:
    """The environment without what would send pip to another folder."""
    away = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_ROOT")
    return {name: value for name, value in os.environ.items() if name not in away}


def shown(path: Path) -> str:
    """A path as the learner knows it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def say(text: str) -> None:
    """One line of progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def run_here(words: list[str]) -> int:
    """Run a command that needs no environment in this very process."""
    sys.path.insert(0, os.fspath(ROOT / "lessons"))
    from kit.__main__ import main as kit_main

    return kit_main(words)


def become(venv: Path, words: list[str]) -> int:
    """Turn into the kit's process; where the system cannot do that, wait for it.

    PYTHONPATH is not handed on: what lies there would come before the lab's own packages.
    """
    python = os.fspath(python_of(venv))
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME")
    }
    arguments = [python, "-P", "-m", "kit", *words]  # -P: the repository root stays off the path
    if os.name == "nt":
        import subprocess

        return subprocess.call(arguments, env=environment)
    try:
        os.execve(python, arguments, environment)
    except OSError as trouble:
        print(f"{python} cannot be started: {trouble.strerror}.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("\nStopped; the next run carries on from here.")
        sys.exit(130)

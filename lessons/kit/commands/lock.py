"""``make lock``: pin every package again, for all groups at once, into `requirements.lock`.

The groups stand in pyproject.toml. They are resolved together, so that no two groups ask for two
versions of one package; then each package goes into the section of the first group that needs it,
and a later group that needs it too names it in its ``# with:`` line.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

SUMMARY = "pin every package again in requirements.lock (for maintainers; needs the network)"
OPTIONS: dict[str, str] = {}

ROOT = Path(__file__).resolve().parents[3]
PLATFORMS = "sys_platform == 'darwin' or sys_platform == 'linux' or sys_platform == 'win32'"
RESOLVER = "uv>=0.13,<0.14"
HEAD = """\
# Every package of the lab, pinned with hashes; made by: python3 -m lessons lock
# A package stands in the first group that needs it; `# with:` names those of earlier groups.
"""


def run(options: dict[str, str]) -> int:
    """Write the lock; 1 when the packages cannot be resolved, with the resolver's own words."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = list(project["dependency-groups"])
    with tempfile.TemporaryDirectory() as folder:
        try:
            uv = install_uv(Path(folder))
            everything = compiled(uv, groups, hashes=True)
            pins = Path(folder) / "pins.txt"
            pins.write_text(compiled(uv, groups, hashes=False), encoding="utf-8")
            names = {group: list(entries(compiled(uv, [group], pins=pins))) for group in groups}
        except subprocess.CalledProcessError as trouble:
            print(trouble.stderr.strip(), file=sys.stderr)
            return 1
    (ROOT / "requirements.lock").write_text(split(entries(everything), names), encoding="utf-8")
    print(f"requirements.lock: {len(entries(everything))} packages in {len(groups)} groups")
    return 0


def install_uv(folder: Path) -> Path:
    """Put the resolver into an environment of its own. Returns its program."""
    venv.create(folder / "uv", with_pip=True)
    binaries = folder / "uv" / ("Scripts" if sys.platform == "win32" else "bin")
    install: list[str | Path] = [binaries / "python", "-m", "pip", "install", "-q", RESOLVER]
    subprocess.run(install, capture_output=True, text=True, check=True)
    return binaries / "uv"


def compiled(uv: Path, groups: list[str], *, hashes: bool = False, pins: Path | None = None) -> str:
    """What `groups` need, for every platform and Python of the lab, in pip's format."""
    command: list[str | Path] = [uv, "pip", "compile", "--universal", "--python-version=3.11"]
    command += ["--only-binary=:all:", "--no-header", "--no-annotate"]
    command += ["--no-emit-index-url", "--no-emit-find-links"]
    command += ["--generate-hashes"] if hashes else []
    command += ["--constraint", pins] if pins else []
    for group in groups:
        command += ["--group", group]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.replace(f" and ({PLATFORMS})", "").replace(f" ; {PLATFORMS}", "")


def entries(text: str) -> dict[str, str]:
    """Package name to its lines; a package pinned once for each Python has several."""
    found: dict[str, str] = {}
    for entry in re.findall(r"^\S.*(?:\n[ \t]+.*)*", text, re.MULTILINE):
        if "==" in entry:
            name = entry.partition("==")[0]
            found[name] = found.get(name, "") + entry + "\n"
    return found


def split(pinned: dict[str, str], names: dict[str, list[str]]) -> str:
    """The text of the lock: one section for each group."""
    placed: set[str] = set()
    text = HEAD
    for group, needed in names.items():
        shared = sorted(placed.intersection(needed))
        text += f"\n# group: {group}\n" + (f"# with: {' '.join(shared)}\n" if shared else "")
        text += "".join(pinned[name] for name in needed if name not in placed)
        placed.update(needed)
    return text

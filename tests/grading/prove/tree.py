"""The files of the lab, and clean copies of them in which nothing is the learner's."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from grading.stubs import write_stubs
from kit.registry import Step

LEFT_OUT = {".git", ".venv", "__pycache__", "node_modules", "reports"}


def listed_files(root: Path) -> list[str]:
    """Every file that is in git or would be added to it, relative to `root`, sorted.

    Without a repository: every file outside caches and environments.
    """
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        names = [name for name in listing.stdout.split("\0") if name]
    else:
        names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
    return sorted(name for name in set(names) if _belongs(root, name))


def _belongs(root: Path, name: str) -> bool:
    parts = Path(name).parts
    hidden_cache = any(part.startswith(".") and part.endswith("_cache") for part in parts)
    return not hidden_cache and not LEFT_OUT.intersection(parts) and (root / name).is_file()


def clean_copy(root: Path, names: Iterable[str], steps: Iterable[Step], target: Path) -> Path:
    """Copy the files to `target`, with every part in ``lessons`` as the generated stub."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name)
    present = [step for step in steps if (target / "solutions" / step.folder).is_dir()]
    write_stubs(target, present)
    return target


def committed(root: Path, name: str) -> str | None:
    """The text of a file at HEAD, or None when it is not in git."""
    command = ["git", "show", f"HEAD:{name}"]
    shown = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
    return shown.stdout if shown.returncode == 0 else None

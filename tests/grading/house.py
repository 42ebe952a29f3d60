"""Where things lie, for one lab and one folder of parts under test."""

from dataclasses import dataclass
from pathlib import Path

from kit.registry import Step

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class House:
    """A lab. root: its folder, laid out like this repository."""

    root: Path = ROOT

    @property
    def registry(self) -> Path:
        """The registry's file."""
        return self.root / "lessons" / "lab.toml"

    @property
    def requirements(self) -> Path:
        """The file of all rules."""
        return self.root / "lessons" / "requirements.md"

    def subject(self, step: Step) -> Path:
        """The step's subject."""
        return self.root / "tests" / step.folder / "subject.py"

    def parts_folder(self, parts: str) -> Path:
        """The folder that ``PARTS=`` means: lessons, solutions, or a path.

        Errors: FileNotFoundError.
        """
        named = self.root / parts if parts in ("lessons", "solutions") else Path(parts).resolve()
        if not named.is_dir():
            raise FileNotFoundError(f"PARTS={parts}: there is no such folder.")
        inner = named / "lessons"
        return inner if inner.is_dir() else named

    def part(self, folder: Path, step: Step, part: str) -> Path:
        """The file of one part below a folder of parts."""
        return folder / step.folder / f"{part}.py"

"""The files of one folder and no others: what opens files for step 10 until step 09 does.

A name is one component, so nothing has to be walked and nothing can lead out.
"""

import os
from pathlib import Path

from kit.refusals import ToolRefusal

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class OneFolder:
    """A folder, held by its descriptor. path: where it is now; later moves do not matter."""

    def __init__(self, path: Path) -> None:
        self._root = os.open(path, FLAGS)

    def open_parent(self, path: str) -> tuple[int, str]:
        """Return a descriptor of its own, which the caller closes, and the name in the folder.

        Errors: ToolRefusal for what is not one name.
        """
        if path in ("", ".", "..") or "/" in path or "\0" in path or not path.isprintable():
            raise ToolRefusal("This path is not a name in the folder.")
        return os.open(".", FLAGS, dir_fd=self._root), path

    def close(self) -> None:
        """Let the folder go."""
        os.close(self._root)

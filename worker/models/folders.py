"""Decides which folders may be read as models: those below configured roots, with symbolic links resolved."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from reinforge.errors import InvalidInput

OWN = "own-models"


@dataclass(frozen=True, slots=True)
class ModelFolders:
    roots: tuple[Path, ...] = ()
    home: Path | None = None

    @classmethod
    def configured(cls, setting: str, home: Path) -> "ModelFolders":
        """Roots from REINFORGE_MODEL_FOLDERS, absolute paths separated by `:`. Raises InvalidInput
        `model_folders_invalid` for a relative path.
        """
        named = [Path(name) for entry in setting.split(os.pathsep) if (name := entry.strip())]
        roots = tuple(Path(os.path.realpath(path)) for path in named or [home / OWN])
        if not all(path.is_absolute() for path in named):
            raise InvalidInput(
                f"REINFORGE_MODEL_FOLDERS is {setting!r}: every folder has to be an absolute path.",
                code="model_folders_invalid",
                hint=f"Write absolute paths, separated by {os.pathsep!r}.",
            )
        return cls(roots, Path(os.path.realpath(home)))

    def check(self, source: str, folder: Path, downloads: Path) -> None:
        """Raise InvalidInput `folder_not_allowed` unless the folder and its files lie below a root."""
        try:
            real, downloaded = Path(os.path.realpath(folder)), os.path.realpath(downloads)
            allowed = all(
                self._allows(path) and not path.is_relative_to(downloaded)
                for path in (real, *_real_entries(real))
            )
        except OSError:  # not to be followed or read
            allowed = False
        if not allowed:
            raise not_allowed(source)

    def _allows(self, path: Path) -> bool:
        return any(
            path.is_relative_to(root) and (not self._in_home(path) or self._in_home(root))
            for root in self.roots
        )

    def _in_home(self, path: Path) -> bool:
        return self.home is not None and path.is_relative_to(self.home)


def not_allowed(source: str) -> InvalidInput:
    return InvalidInput(
        f"{source} is not below a folder that this worker reads models from.",
        code="folder_not_allowed",
        hint="REINFORGE_MODEL_FOLDERS of the workers lists those folders. An administrator may add a model "
        "from any folder.",
        param="source",
    )


def _real_entries(folder: Path) -> Iterable[Path]:
    if not folder.is_dir():
        return []
    return [Path(os.path.realpath(entry.path)) for entry in os.scandir(folder)]

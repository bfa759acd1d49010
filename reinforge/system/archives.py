"""Unpacks untrusted tar files."""

import shutil
import tarfile
from pathlib import Path, PurePosixPath


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Write files and folders below `folder`. Raises `tarfile.TarError` for links, devices and paths that
    lead outside.
    """
    members = archive.getmembers()
    for member in members:
        path = PurePosixPath(member.name)
        if not (member.isreg() or member.isdir()) or path.is_absolute() or ".." in path.parts:
            raise tarfile.TarError(f"{member.name!r} is not a plain file or folder inside the archive")
    for member in members:
        target = folder / member.name
        source = archive.extractfile(member)
        if source is None:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with source, target.open("wb") as out:
            shutil.copyfileobj(source, out)

"""Folders as uncompressed tar bytes; equal files give equal bytes."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def pack(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size = len(files[name])
            info.mode = 0o644
            tar.addfile(info, io.BytesIO(files[name]))
    return buffer.getvalue()


def pack_folder(folder: Path) -> bytes:
    return pack({path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()})


def unpack(content: bytes) -> dict[str, bytes]:
    files = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
        for member in tar:
            if member.isfile() and (file := tar.extractfile(member)) is not None:
                files[member.name] = file.read()
    return files

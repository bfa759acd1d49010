"""Conversion of a stored PEFT tar to a reproducible `.tar.gz`."""

import tarfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import BinaryIO

from reinforge.storage import StorageError

VERSION = "1"
_CHUNK = 1 << 18
_LEVEL = 1
_BLOCK = tarfile.BLOCKSIZE


def repack(stored: BinaryIO, card: str) -> Iterator[bytes]:
    """Chunks of a `.tar.gz` with the regular files of `stored`, and `card` as `README.md` if there is none.
    Owners, times and modes are fixed.
    """
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)  # 31: gzip, with no time in its header
    names = set()
    try:
        with tarfile.open(fileobj=stored, mode="r|") as tar:
            for member in tar:
                name = PurePosixPath(member.name).name
                file = tar.extractfile(member) if member.isfile() else None
                if file is None or not name or name in names:
                    continue
                names.add(name)
                yield packer.compress(_header(name, member.size))
                while chunk := file.read(_CHUNK):
                    yield packer.compress(chunk)
                yield packer.compress(_padding(member.size))
    except tarfile.TarError as error:
        raise StorageError(f"The stored adapter cannot be read: {error}", code="adapter_damaged") from error
    if "README.md" not in names:
        text = card.encode()
        yield packer.compress(_header("README.md", len(text)) + text + _padding(len(text)))
    yield packer.compress(b"\0" * 2 * _BLOCK)
    yield packer.flush()


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.PAX_FORMAT)


def _padding(size: int) -> bytes:
    return b"\0" * (-size % _BLOCK)

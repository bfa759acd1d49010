"""Streaming tar archives: only one piece of one file is in memory."""

import tarfile


def header(name: str, size: int) -> bytes:
    """The header of a file of `size` bytes; owner, time and mode are fixed."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.PAX_FORMAT)


def padding(size: int) -> bytes:
    """The padding after it."""
    return b"\0" * (-size % tarfile.BLOCKSIZE)


def entry(name: str, content: bytes) -> bytes:
    """A whole small file."""
    return header(name, len(content)) + content + padding(len(content))


END = b"\0" * 2 * tarfile.BLOCKSIZE

"""Streaming tar archives."""

import tarfile


def header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.PAX_FORMAT)


def padding(size: int) -> bytes:
    return b"\0" * (-size % tarfile.BLOCKSIZE)


def entry(name: str, content: bytes) -> bytes:
    return header(name, len(content)) + content + padding(len(content))


END = b"\0" * 2 * tarfile.BLOCKSIZE

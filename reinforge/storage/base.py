"""Protocol of the object stores, their errors and keys."""

import errno
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, Protocol

from reinforge.errors import InvalidInput, NotFound, StateConflict, Unavailable
from reinforge.storage.parts import PartStore

CHUNK = 1024 * 1024
_KEY = re.compile(r"(?:[A-Za-z0-9_=+@-][A-Za-z0-9._=+@-]{0,199}/)*[A-Za-z0-9_=+@-][A-Za-z0-9._=+@-]{0,199}\Z")
_PREFIX = re.compile(r"[A-Za-z0-9._=+@/-]*\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


class StorageError(Unavailable):
    """Error of the store: `storage_full`, `storage_denied` or else `storage_unavailable`."""

    default_code = "storage_unavailable"


class ObjectNotFound(NotFound):
    default_code = "object_not_found"


class ObjectConflict(StateConflict):
    """Error: the key exists with other content, or is a folder of other keys."""

    default_code = "object_conflict"


class ObjectInfo(NamedTuple):
    key: str
    size: int
    modified_at: float


class ObjectStore(Protocol):
    """Object store. Methods raise InvalidInput `invalid_key` and StorageError; those that read, ObjectNotFound."""

    @property
    def parts(self) -> PartStore | None:
        """Multipart uploads; None without HTTP access."""

    def put(self, key: str, data: bytes | BinaryIO) -> None:
        """Save bytes, or the rest of a stream. Raises ObjectConflict if the key has other content."""

    def put_file(self, key: str, path: Path) -> None:
        """Raises ObjectConflict, as `put`."""

    def get(self, key: str) -> bytes: ...

    def get_file(self, key: str, path: Path) -> None:
        """Write an object to a file, completely or not at all."""

    def open(self, key: str) -> BinaryIO:
        """Open an object as a stream, maybe not seekable, for the caller to close."""

    def size(self, key: str) -> int:
        """Size in bytes."""

    def exists(self, key: str) -> bool: ...

    def delete(self, key: str) -> None:
        """Delete an object, if it exists."""

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Objects whose keys begin with the string `prefix`, ascending by key."""

    def presigned_put(self, key: str, *, expires_seconds: int = 3600) -> str | None:
        """URL for an HTTP PUT; None without HTTP access."""

    def presigned_get(
        self, key: str, *, expires_seconds: int = 3600, filename: str | None = None
    ) -> str | None:
        """URL for a download as `filename`; None without HTTP access."""


def content_key(kind: str, sha256: str) -> str:
    """Key such as `datasets/ab/abcd…`, so that files spread over 256 folders."""
    if not _SHA256.match(sha256):
        raise InvalidInput(f"{sha256!r} is not a SHA-256 in lower-case hex.", code="invalid_key")
    return check_key(f"{kind}/{sha256[:2]}/{sha256}")


def check_key(key: str) -> str:
    if len(key) > 900 or not _KEY.match(key):
        raise InvalidInput(
            f"{key[:200]!r} is not a valid key of an object.",
            code="invalid_key",
            hint="Join segments of letters, digits and ._=+@- by /; none may be empty or start with a dot.",
        )
    return key


def check_prefix(prefix: str) -> str:
    if not _PREFIX.match(prefix) or prefix.startswith("/") or {".", ".."} & set(prefix.split("/")):
        raise InvalidInput(f"{prefix[:200]!r} is not a valid prefix of keys.", code="invalid_key")
    return prefix


def not_found(key: str) -> ObjectNotFound:
    return ObjectNotFound(f"There is no object {key}.")


def conflict(key: str) -> ObjectConflict:
    return ObjectConflict(f"The object {key} exists with other content; objects are never overwritten.")


def full(cause: object) -> StorageError:
    hint = "Free some space or make the volume larger, then retry; nothing half-written was kept."
    return StorageError(f"The object store is full: {cause}", code="storage_full", hint=hint)


def same_content(left: IO[bytes], right: IO[bytes]) -> bool:
    while True:
        a, b = read_up_to(left, CHUNK), read_up_to(right, CHUNK)
        if a != b:
            return False
        if not a:
            return True


def read_up_to(stream: IO[bytes], size: int) -> bytes:
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    temporary = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise disk_error(error) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def scratch_file(folder: Path, prefix: str) -> Iterator[IO[bytes]]:
    """Create a temporary file. Flush it inside the block: closing suppresses errors."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = tempfile.NamedTemporaryFile(dir=folder, prefix=prefix)  # noqa: SIM115 - closed below
    except OSError as error:
        raise disk_error(error) from error
    try:
        yield file
    finally:
        # Closing retries the write that a full disk refused; that error would hide the first one.
        with suppress(OSError):
            file.close()


def disk_error(error: OSError) -> StorageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return full(error.strerror)
    hint = "Check that the folder exists, is mounted and may be written."
    return StorageError(f"The object store's folder failed: {error.strerror or error}", hint=hint)

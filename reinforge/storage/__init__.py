"""The object store: a folder or an S3 bucket behind one protocol.

Objects are immutable and visible only when complete. Keys are relative paths of letters, digits and
`._=+@-`, at most 900 characters.
"""

import urllib.parse
from pathlib import Path

from reinforge.errors import InvalidInput
from reinforge.storage.base import (
    ObjectConflict,
    ObjectInfo,
    ObjectNotFound,
    ObjectStore,
    StorageError,
    check_key,
    content_key,
)
from reinforge.storage.local import LocalStore
from reinforge.storage.s3 import S3Store

__all__ = [
    "LocalStore",
    "ObjectConflict",
    "ObjectInfo",
    "ObjectNotFound",
    "ObjectStore",
    "S3Store",
    "StorageError",
    "check_key",
    "content_key",
    "open_store",
]


def open_store(url: str, *, s3_endpoint_url: str | None = None) -> ObjectStore:
    """Open `file:///folder` or `s3://bucket/prefix`; `s3_endpoint_url` is for servers such as MinIO."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
        return LocalStore(Path(urllib.parse.unquote(parts.path)))
    if parts.scheme == "s3" and parts.netloc:
        return S3Store(parts.netloc, parts.path.strip("/"), endpoint_url=s3_endpoint_url)
    raise InvalidInput(
        f"{url!r} is not the address of an object store.",
        code="invalid_storage_url",
        hint="Use file:///absolute/folder or s3://bucket/prefix.",
    )

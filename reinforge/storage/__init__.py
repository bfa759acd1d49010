"""The object store: a folder or an S3 bucket behind one protocol.

Objects are immutable: a key is written once (callers put a content hash or attempt and step into it), writing the
same content again changes nothing, writing other content is the error `object_conflict`. Nothing half-written is
ever visible under a key. Whether an object counts is decided by a row in the database, never here.

Keys are relative paths of plain segments: letters, digits and `._=+@-`, no leading dot, at most 200 characters a
segment and 900 in all. A key cannot at once be an object and the parent of another one: a folder could not hold
both.
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
    """`file:///folder` or `s3://bucket/prefix`.

    S3 uses boto3's credentials and region (`AWS_ACCESS_KEY_ID` …) and, for MinIO and others, `s3_endpoint_url`.
    """
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

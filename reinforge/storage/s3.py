"""Object store in an S3 bucket through boto3, loaded lazily."""

import io
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from reinforge.errors import InvalidInput
from reinforge.storage.base import (
    ObjectInfo,
    ObjectNotFound,
    StorageError,
    check_key,
    check_prefix,
    conflict,
    full,
    not_found,
    replacing,
    same_content,
)
from reinforge.storage.parts import S3Parts

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MISSING = {"NoSuchKey", "NoSuchUpload", "NotFound", "404"}
_FULL = {"XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded", "InsufficientStorage", "507"}
_DENIED = {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "403"}


class S3Store:
    def __init__(self, bucket: str, prefix: str = "", *, endpoint_url: str | None = None) -> None:
        self._bucket = bucket
        self._prefix = f"{check_key(prefix)}/" if prefix else ""
        self._client = _client(endpoint_url)
        self.parts = S3Parts(self._client, bucket, self._name, _named_errors)

    def put(self, key: str, data: bytes | BinaryIO) -> None:
        self._put(key, BytesIO(data) if isinstance(data, bytes) else data)

    def put_file(self, key: str, path: Path) -> None:
        with path.open("rb") as stream:
            self._put(key, stream)

    def get(self, key: str) -> bytes:
        with self.open(key) as stream:
            return stream.read()

    def get_file(self, key: str, path: Path) -> None:
        name = self._name(key)
        with replacing(path) as file, _named_errors(key):
            self._client.download_fileobj(self._bucket, name, file)

    def open(self, key: str) -> BinaryIO:
        name = self._name(key)
        with _named_errors(key):
            body = self._client.get_object(Bucket=self._bucket, Key=name)["Body"]
        return io.BufferedReader(_Body(key, body))

    def size(self, key: str) -> int:
        name = self._name(key)
        with _named_errors(key):
            return int(self._client.head_object(Bucket=self._bucket, Key=name)["ContentLength"])

    def exists(self, key: str) -> bool:
        return self._existing_size(key) is not None

    def delete(self, key: str) -> None:
        name = self._name(key)
        with _named_errors(key):
            self._client.delete_object(Bucket=self._bucket, Key=name)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=self._prefix + check_prefix(prefix)
        )
        return self._listed(pages)

    def presigned_put(self, key: str, *, expires_seconds: int = 3600) -> str | None:
        parameters = {"Bucket": self._bucket, "Key": self._name(key)}
        return self._presigned("put_object", parameters, expires_seconds)

    def presigned_get(
        self, key: str, *, expires_seconds: int = 3600, filename: str | None = None
    ) -> str | None:
        parameters = {"Bucket": self._bucket, "Key": self._name(key)}
        if filename is not None:
            quoted = urllib.parse.quote(filename, safe="")
            parameters["ResponseContentDisposition"] = f"attachment; filename*=UTF-8''{quoted}"
        return self._presigned("get_object", parameters, expires_seconds)

    def _name(self, key: str) -> str:
        return self._prefix + check_key(key)

    def _put(self, key: str, stream: IO[bytes]) -> None:
        name = self._name(key)
        if self.exists(key):
            with self.open(key) as stored:
                if not same_content(stored, stream):
                    raise conflict(key)
            return
        with _named_errors(key):
            self._client.upload_fileobj(stream, self._bucket, name)

    def _existing_size(self, key: str) -> int | None:
        try:
            return self.size(key)
        except ObjectNotFound:
            return None

    def _listed(self, pages: Any) -> Iterator[ObjectInfo]:
        with _named_errors("list"):
            for page in pages:
                for item in page.get("Contents", ()):
                    key = item["Key"].removeprefix(self._prefix)
                    yield ObjectInfo(key, int(item["Size"]), item["LastModified"].timestamp())

    def _presigned(self, method: str, parameters: dict[str, str], expires_seconds: int) -> str:
        return str(self._client.generate_presigned_url(method, Params=parameters, ExpiresIn=expires_seconds))


class _Body(io.RawIOBase):
    def __init__(self, key: str, body: Any) -> None:
        self._key = key
        self._body = body

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        with _named_errors(self._key):
            data: bytes = self._body.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._body.close()
        super().close()


def _client(endpoint_url: str | None) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise InvalidInput(
            "An object store on S3 needs boto3, which is not installed.",
            code="missing_package",
            hint="Install the platform (docs/install.md#from-wheels), or use file:///folder.",
        ) from None
    session = boto3.session.Session()
    config = Config(
        # Path-style buckets and no checksum trailers, for all S3 servers.
        s3={"addressing_style": "path"},
        signature_version="s3v4",
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        retries={"mode": "standard", "max_attempts": 4},
        connect_timeout=10,
        read_timeout=60,
    )
    region = session.region_name or "us-east-1"
    return session.client("s3", endpoint_url=endpoint_url, region_name=region, config=config)


@contextmanager
def _named_errors(key: str) -> Iterator[None]:
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

    try:
        yield
    except ClientError as error:
        raise _from_answer(key, error.response) from error
    except Boto3Error as error:
        # Transfers wrap the client's error.
        if isinstance(error.__context__, ClientError):
            raise _from_answer(key, error.__context__.response) from error
        raise StorageError(f"S3 failed: {error}") from error
    except (BotoCoreError, HTTPClientError) as error:
        hint = "Check S3_ENDPOINT_URL, the network and the credentials (AWS_ACCESS_KEY_ID …)."
        raise StorageError(f"S3 cannot be used: {error}", hint=hint) from error


def _from_answer(key: str, response: Any) -> Exception:
    code = str(response.get("Error", {}).get("Code", ""))
    status = str(response.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))
    if code in _MISSING:
        return not_found(key)
    if code in _FULL or status == "507":
        return full(code)
    if code in _DENIED:
        return StorageError(
            f"S3 refused {key}: {code}",
            code="storage_denied",
            hint="Check the credentials and that they may read, write, list and delete in the bucket.",
        )
    hint = "Create the bucket first." if code == "NoSuchBucket" else None
    return StorageError(f"S3 answered {code or status} for {key}.", hint=hint)

"""Multipart uploads to a bucket by presigned URLs. No object exists until its upload is completed."""

import base64
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Any, NamedTuple, Protocol


class PartUrl(NamedTuple):
    url: str
    headers: dict[str, str]


class PartStore(Protocol):
    """Multipart uploads. Methods raise StorageError."""

    def begin(self, key: str) -> str: ...

    def url(self, key: str, upload: str, number: int, *, sha256: str, expires_seconds: int) -> PartUrl:
        """Presigned URL of part `number`, from 1. The bucket checks the hash if it can."""

    def put(self, key: str, upload: str, number: int, data: IO[bytes]) -> None: ...

    def sizes(self, key: str, upload: str) -> dict[int, int]:
        """Bytes of each uploaded part. Raises ObjectNotFound if the upload was completed or aborted."""

    def complete(self, key: str, upload: str) -> None:
        """Join the parts into the object. Raises ObjectNotFound if there is no such upload."""

    def abort(self, key: str) -> None:
        """Abort the key's uploads and delete the object."""

    def copy(self, key: str, target: str) -> None:
        """Copy an object within the bucket. Raises ObjectNotFound."""


Named = Callable[[str], AbstractContextManager[None]]


class S3Parts:
    def __init__(self, client: Any, bucket: str, name: Callable[[str], str], named: Named) -> None:
        self._client, self._bucket, self._name, self._named = client, bucket, name, named

    def begin(self, key: str) -> str:
        with self._named(key):
            return str(self._client.create_multipart_upload(**self._at(key))["UploadId"])

    def url(self, key: str, upload: str, number: int, *, sha256: str, expires_seconds: int) -> PartUrl:
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        parameters = self._at(key) | {
            "UploadId": upload,
            "PartNumber": number,
            "ChecksumSHA256": checksum,
        }
        with self._named(key):
            url = self._client.generate_presigned_url(
                "upload_part", Params=parameters, ExpiresIn=expires_seconds
            )
        return PartUrl(str(url), {"x-amz-checksum-sha256": checksum})

    def put(self, key: str, upload: str, number: int, data: IO[bytes]) -> None:
        with self._named(key):
            self._client.upload_part(**self._at(key), UploadId=upload, PartNumber=number, Body=data)

    def sizes(self, key: str, upload: str) -> dict[int, int]:
        return {int(part["PartNumber"]): int(part["Size"]) for part in self._parts(key, upload)}

    def complete(self, key: str, upload: str) -> None:
        parts = [
            {"PartNumber": part["PartNumber"], "ETag": part["ETag"]} for part in self._parts(key, upload)
        ]
        with self._named(key):
            self._client.complete_multipart_upload(
                **self._at(key), UploadId=upload, MultipartUpload={"Parts": parts}
            )

    def abort(self, key: str) -> None:
        with self._named(key):
            begun = self._client.list_multipart_uploads(Bucket=self._bucket, Prefix=self._name(key))
            for upload in begun.get("Uploads", ()):
                if upload["Key"] == self._name(key):
                    self._client.abort_multipart_upload(**self._at(key), UploadId=upload["UploadId"])
            self._client.delete_object(**self._at(key))

    def copy(self, key: str, target: str) -> None:
        with self._named(key):
            source = {"Bucket": self._bucket, "Key": self._name(key)}
            self._client.copy(source, self._bucket, self._name(target))

    def _at(self, key: str) -> dict[str, Any]:
        return {"Bucket": self._bucket, "Key": self._name(key)}

    def _parts(self, key: str, upload: str) -> Iterator[Any]:
        with self._named(key):
            pages = self._client.get_paginator("list_parts").paginate(**self._at(key), UploadId=upload)
            for page in pages:
                yield from page.get("Parts", ())

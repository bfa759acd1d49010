"""OpenAI's shapes of files and uploads in parts."""

from typing import Literal

from pydantic import Field

from reinforge.schemas.common import Request
from reinforge.schemas.openai_common import WireObject
from reinforge.schemas.openai_graders import Wire

SHORTEST, LONGEST = 3600, 2_592_000
"""Lifetime of a file in seconds: an hour to 30 days."""


class ExpiresAfter(Request):
    anchor: Literal["created_at"]
    seconds: int = Field(ge=SHORTEST, le=LONGEST)


class File(WireObject):
    object: Literal["file"] = "file"
    bytes: int
    created_at: int
    expires_at: int | None
    filename: str
    purpose: Literal["fine-tune"] = "fine-tune"
    status: Literal["processed"] = "processed"
    """Always `processed`: invalid files are refused."""
    status_details: str | None = None


class UploadCreate(Wire):
    bytes: int = Field(ge=1)
    filename: str = Field(min_length=1, max_length=255)
    mime_type: str = Field(max_length=255)
    purpose: str
    expires_after: ExpiresAfter | None = None


class UploadComplete(Wire):
    part_ids: list[str] = Field(min_length=1, max_length=10_000)
    """Ids of the parts, in the order of the file."""
    md5: str | None = Field(default=None, pattern=r"^[0-9a-fA-F]{32}$")
    skip_bad_rows: bool = False
    """Whether to leave out invalid rows. Not in OpenAI's API: SDKs send it in `extra_body`."""


class Upload(WireObject):
    object: Literal["upload"] = "upload"
    bytes: int
    created_at: int
    expires_at: int
    filename: str
    purpose: Literal["fine-tune"] = "fine-tune"
    status: Literal["pending", "completed", "cancelled", "expired"]
    file: File | None = None


class UploadPart(WireObject):
    object: Literal["upload.part"] = "upload.part"
    created_at: int
    upload_id: str

"""Dataset uploads in numbered parts, which may be sent in any order and sent again."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from reinforge.schemas.common import Request, Response, Timestamp
from reinforge.schemas.resources import Dataset

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

LARGE_BYTES = 64 * 1024**2
"""Size above which clients upload files in parts by default."""


class DatasetUploadCreate(Request):
    filename: str = Field(min_length=1, max_length=255)
    bytes: int = Field(ge=1, le=2**53)
    name: str | None = Field(default=None, min_length=1, max_length=200)
    """Name of the dataset; default the file's."""
    sha256: Sha256 | None = None
    """SHA-256 of the whole file; an unfinished upload of the same file is continued."""


class DatasetUploadPart(Response):
    number: int
    """Part number, from 1."""
    bytes: int
    sha256: str


class DatasetUpload(Response):
    object: Literal["upload"] = "upload"
    id: str
    status: Literal["pending", "completed", "cancelled", "expired", "refused"]
    filename: str
    name: str | None = None
    bytes: int
    sha256: str | None = None
    part_bytes: int
    """Size of every part but the last."""
    part_count: int
    parts: list[DatasetUploadPart]
    missing: list[int]
    direct: bool = False
    """Whether parts may be sent to the bucket itself, by URLs of `…/parts/{number}/url`."""
    created_at: Timestamp
    expires_at: Timestamp
    """A day after the last part arrived."""
    dataset: Dataset | None = None


class PartDestination(Response):
    object: Literal["part_destination"] = "part_destination"
    url: str
    """Address for an HTTP PUT of the part."""
    headers: dict[str, str]
    expires_at: Timestamp

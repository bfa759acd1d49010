"""Experiment trackers of a project, and exports of jobs to them."""

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    HttpUrl,
    SecretStr,
    StringConstraints,
    TypeAdapter,
    field_validator,
    model_validator,
)

from reinforge.reward_spec.base import Name
from reinforge.schemas.common import Editable, Request, Response, Timestamp

TrackerKind = Literal["wandb", "mlflow"]
WANDB_URL = "https://api.wandb.ai"
_URL: TypeAdapter[HttpUrl] = TypeAdapter(HttpUrl)
_WANDB_NAME = re.compile(r"[\w.-]{1,128}", re.ASCII)

Destination = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]*$")]
Account = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f:]*$")]


def checked_url(url: str) -> str:
    parsed = _URL.validate_python(url)
    if parsed.username or parsed.password:
        raise ValueError("the address must not contain a user name or password: remove them")
    if parsed.fragment or parsed.query:
        raise ValueError("the address must have no query (?…) and no fragment (#…)")
    return url.rstrip("/")


def _without_controls(key: SecretStr) -> SecretStr:
    if not key.get_secret_value().isprintable():
        raise ValueError("a key must not contain line breaks or other control characters")
    return key


ApiKey = Annotated[SecretStr, Field(min_length=1, max_length=4096), AfterValidator(_without_controls)]


class TrackerCreate(Request):
    name: Name
    kind: TrackerKind
    url: str | None = Field(default=None, max_length=2000)
    """MLflow: the tracking URI, `https://…`. W&B: the server's address; default `https://api.wandb.ai`."""
    destination: Destination
    """Project of W&B or experiment of MLflow; created if there is none."""
    entity: Account | None = None
    """W&B: user or team; default that of the key."""
    username: Account | None = None
    """MLflow: user for basic authentication, with `api_key` as password. Without it `api_key` is sent as
    a bearer token.
    """
    api_key: ApiKey | None = None
    """Key for the tracker. Stored encrypted, never returned."""
    every_job: bool = False
    """Export every new job of the project."""

    @field_validator("url")
    @classmethod
    def callable_url(cls, url: str | None) -> str | None:
        return None if url is None else checked_url(url)

    @model_validator(mode="after")
    def complete(self) -> Self:
        if self.kind == "mlflow" and self.url is None:
            raise ValueError("an MLflow tracker needs `url`, its tracking URI")
        self.url = self.url or WANDB_URL
        check_tracker(self.kind, self.url, self.destination)
        return self


def check_tracker(kind: str, url: str, destination: str) -> None:
    """Check a tracker's address and project name. Raises ValueError if W&B does not allow them."""
    if kind == "wandb":
        if not url.startswith("https://"):
            raise ValueError("the address of a W&B server begins with https://")
        if not _WANDB_NAME.fullmatch(destination):
            raise ValueError(
                "the name of a W&B project has at most 128 characters: letters, digits, `_`, `-` and `.`"
            )


class TrackerChange(Request):
    """Omitted fields are kept; `api_key: null` removes the key."""

    url: str | None = Field(default=None, max_length=2000)
    destination: Destination | None = None
    entity: Account | None = None
    username: Account | None = None
    api_key: ApiKey | None = None
    every_job: bool | None = None

    @field_validator("url")
    @classmethod
    def callable_url(cls, url: str | None) -> str | None:
        return None if url is None else checked_url(url)


class Tracker(Editable):
    EDITS: ClassVar = frozenset({"updated_at"})
    """`updated_at` alone, because no other field shows that the key has changed."""

    object: Literal["tracker"] = "tracker"
    id: str
    name: str
    kind: TrackerKind
    url: str
    destination: str
    entity: str | None = None
    username: str | None = None
    has_key: bool
    every_job: bool
    created_by: str | None = None
    created_at: Timestamp
    updated_at: Timestamp


class JobExportCreate(Request):
    tracker: str = Field(min_length=1, max_length=100)
    """Name or id of the tracker."""


class JobExport(Response):
    object: Literal["job.export"] = "job.export"
    id: str
    job: str
    tracker: str
    """Name of the tracker."""
    kind: TrackerKind
    destination: str
    state: Literal["pending", "live", "done", "failed"]
    """`done`: the whole job has arrived. `failed`: no attempt worked for three days."""
    step: int | None = None
    """The last step that has arrived."""
    url: str | None = None
    """The run at the tracker."""
    error: str | None = None
    """Why the newest attempt failed; the export is tried again."""
    tries: int
    """Failed attempts in a row."""
    next_at: Timestamp | None = None
    created_at: Timestamp
    updated_at: Timestamp


class JobExportList(Response):
    object: Literal["list"] = "list"
    data: list[JobExport]

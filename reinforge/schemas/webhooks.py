"""Webhooks, deliveries and events."""

from typing import Any, ClassVar, Literal

from pydantic import Field, HttpUrl, TypeAdapter, field_validator

from reinforge.schemas.common import Editable, Request, Response, Timestamp

EventType = Literal[
    "fine_tuning.job.running",
    "fine_tuning.job.paused",
    "fine_tuning.job.succeeded",
    "fine_tuning.job.failed",
    "fine_tuning.job.cancelled",
    "fine_tuning.job.finding",
    "evaluation.succeeded",
    "evaluation.failed",
]
"""Types of events that a webhook can get; `webhook.test` is sent on request."""

_URL: TypeAdapter[HttpUrl] = TypeAdapter(HttpUrl)


def _checked(url: str) -> str:
    parsed = _URL.validate_python(url)
    if parsed.username or parsed.password:
        raise ValueError("the address must not contain a user name or password: remove them")
    if parsed.fragment:
        raise ValueError("the address has a fragment (#…), which is never sent: leave it out")
    return url


class WebhookCreate(Request):
    url: str = Field(max_length=2000, examples=["https://example.org/hooks/reinforge"])
    """`https://…` or `http://…`; every 2xx counts as received."""
    events: list[EventType] = Field(default_factory=list, max_length=20)
    """Types of the events to send; empty for all."""
    description: str | None = Field(default=None, max_length=500)

    @field_validator("url")
    @classmethod
    def sendable(cls, url: str) -> str:
        return _checked(url)


class WebhookChange(Request):
    """Omitted fields are kept."""

    url: str | None = Field(default=None, max_length=2000)
    events: list[EventType] | None = Field(default=None, max_length=20)
    description: str | None = Field(default=None, max_length=500)
    enabled: bool | None = None
    """A webhook that is enabled again receives only later events."""

    @field_validator("url")
    @classmethod
    def sendable(cls, url: str | None) -> str | None:
        return None if url is None else _checked(url)


class WebhookInfo(Editable):
    EDITS: ClassVar = frozenset({"url", "events", "description", "enabled"})

    object: Literal["webhook"] = "webhook"
    id: str
    url: str
    events: list[str]
    description: str | None = None
    enabled: bool
    disabled_reason: str | None = None
    """`gone`: the receiver answered 410."""
    created_by: str | None = None
    created_at: Timestamp
    updated_at: Timestamp


class WebhookSecret(WebhookInfo):
    secret: str
    """`whsec_…`, shown only once."""


class DeliveryTry(Response):
    number: int
    at: Timestamp
    status: int | None = None
    """HTTP status; null without an answer."""
    error: str | None = None
    milliseconds: float


class WebhookDeliveryInfo(Response):
    object: Literal["webhook.delivery"] = "webhook.delivery"
    id: str
    """The `webhook-id` header, equal for all tries."""
    event: str
    type: str
    state: Literal["pending", "delivered", "failed"]
    tries: int
    next_at: Timestamp | None = None
    created_at: Timestamp
    ended_at: Timestamp | None = None


class WebhookDeliveryDetail(WebhookDeliveryInfo):
    body: dict[str, Any]
    log: list[DeliveryTry]
    """Tries, the oldest first."""

"""E-mail notifications of the signed-in person."""

from typing import ClassVar, Literal

from pydantic import Field

from reinforge.schemas.common import Editable, Request
from reinforge.schemas.webhooks import EventType


class Notifications(Editable):
    """Events of the project that are sent to the person's confirmed address."""

    EDITS: ClassVar = frozenset({"events"})

    object: Literal["notifications"] = "notifications"
    available: bool
    """Whether the server sends e-mail (`REINFORGE_SMTP_HOST`)."""
    email: str | None = None
    confirmed: bool
    """Only confirmed addresses receive events. A new address has to be confirmed again."""
    confirmation: Literal["none", "pending", "sent", "failed"]
    """State of the newest message with a confirmation link for this address."""
    events: list[str]
    """Types of the events to send; empty for none."""


class NotificationsUpdate(Request):
    events: list[EventType] = Field(max_length=20)
    """Types of the events to send; empty for none."""

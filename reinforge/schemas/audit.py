"""Who did what."""

from typing import Any, Literal

from reinforge.schemas.common import Response, Timestamp


class AuditEntry(Response):
    object: Literal["audit_entry"] = "audit_entry"
    id: str
    created_at: Timestamp
    actor: str
    """Id of a user or an API key."""
    actor_name: str
    """As it was then."""
    action: str
    """The operation of the API, as its description names it."""
    target: str | None = None
    """Id of the thing that was made, changed or removed."""
    details: dict[str, Any] = {}
    """What the answer said of the thing; never a secret."""

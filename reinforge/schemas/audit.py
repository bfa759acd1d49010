"""Entry of the audit log: who changed what, and when."""

from typing import Any, Literal

from reinforge.schemas.common import Response, Timestamp


class AuditEntry(Response):
    object: Literal["audit_entry"] = "audit_entry"
    id: str
    created_at: Timestamp
    actor: str
    """Id of a user or API key, or `diagnosis`."""
    actor_name: str
    """Name of the actor at that time."""
    action: str
    """Operation id of the API, or an automatic action such as `diagnosis.stop`."""
    target: str | None = None
    """Id of the object of the action."""
    details: dict[str, Any] = {}

"""Audit log entries: append-only, deleted only with their project."""

from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from backend.access.auth import Principal, require_owner
from backend.http.cursors import cut, newest_first
from backend.models import AuditEntry, Project


def note(
    session: Session,
    *,
    id: str,
    who: Principal,
    action: str,
    target: str | None,
    details: dict[str, Any],
    project_id: str,
) -> None:
    """Add an entry, or complete the one with this `id`. If the project is deleted, the entry goes to the
    platform's oldest project.
    """
    stored = session.get(AuditEntry, id)
    if stored is not None:
        stored.target, stored.details = target or stored.target, details or stored.details
        return
    existing = session.scalar(select(Project.id).where(Project.id == project_id))
    if existing is None:
        oldest = select(Project.id).order_by(Project.created_at, Project.id).limit(1)
        existing = session.scalars(oldest).one()
    entry = AuditEntry(
        id=id,
        project_id=existing,
        actor=who.id,
        actor_name=who.name,
        action=action,
        target=target,
        details=details,
    )
    session.add(entry)


async def page(
    session: AsyncSession, who: Principal, *, q: str | None = None, limit: int, after: str | None
) -> tuple[list[AuditEntry], bool]:
    require_owner(who, "the audit log")
    query = select(AuditEntry).where(AuditEntry.project_id == who.project_id)
    name = AuditEntry.details["name"].astext
    places = (AuditEntry.actor_name, AuditEntry.actor, AuditEntry.action, AuditEntry.target, name)
    for word in (q or "").replace("\0", "").split():
        query = query.where(or_(*(place.icontains(word, autoescape=True) for place in places)))
    query = newest_first(query, AuditEntry.created_at, AuditEntry.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)

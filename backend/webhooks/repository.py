"""Queries about webhooks and their deliveries."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, newest_first
from backend.models import Webhook, WebhookDelivery, WebhookTry, now


async def find(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> Webhook | None:
    query = select(Webhook).where(Webhook.id == id, Webhook.project_id == project_id)
    found: Webhook | None = await session.scalar(query.with_for_update() if lock else query)
    return found


async def page(
    session: AsyncSession, project_id: str, *, limit: int, after: str | None
) -> tuple[list[Webhook], bool]:
    query = select(Webhook).where(Webhook.project_id == project_id)
    query = newest_first(query, Webhook.created_at, Webhook.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def listening(session: AsyncSession, project_id: str) -> Sequence[Webhook]:
    query = select(Webhook).where(Webhook.project_id == project_id, Webhook.enabled)
    return (await session.scalars(query)).all()


async def find_delivery(session: AsyncSession, webhook_id: str, id: str) -> WebhookDelivery | None:
    query = select(WebhookDelivery).where(WebhookDelivery.id == id, WebhookDelivery.webhook_id == webhook_id)
    found: WebhookDelivery | None = await session.scalar(query.with_for_update())
    return found


async def deliveries(
    session: AsyncSession, webhook_id: str, *, limit: int, after: str | None
) -> tuple[list[WebhookDelivery], bool]:
    each = WebhookDelivery
    query = select(each).where(each.webhook_id == webhook_id)
    query = newest_first(query, each.created_at, each.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def tries(session: AsyncSession, delivery_id: str) -> Sequence[WebhookTry]:
    """Oldest first."""
    query = select(WebhookTry).where(WebhookTry.delivery_id == delivery_id)
    return (await session.scalars(query.order_by(WebhookTry.number))).all()


async def take_due(
    session: AsyncSession, *, most: int, lease: timedelta
) -> list[tuple[WebhookDelivery, Webhook]]:
    """Due deliveries, postponed by `lease` so that nobody else takes them meanwhile."""
    due = (
        select(WebhookDelivery)
        .where(WebhookDelivery.state == "pending", WebhookDelivery.next_at <= now())
        .order_by(WebhookDelivery.next_at)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    found = []
    for each in await session.scalars(due):
        each.next_at = now() + lease
        found.append((each, await session.get_one(Webhook, each.webhook_id)))
    return found


async def give_up_all(session: AsyncSession, webhook_id: str) -> None:
    """Drop the webhook's pending deliveries."""
    waiting = (WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.state == "pending")
    await session.execute(update(WebhookDelivery).where(*waiting).values(state="failed", ended_at=now()))


async def forget(session: AsyncSession, before: datetime) -> None:
    """Delete ended deliveries that were created before a time."""
    old = (WebhookDelivery.created_at < before, WebhookDelivery.state != "pending")
    await session.execute(delete(WebhookDelivery).where(*old))

"""Queries about webhooks."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import cut, newest_first
from backend.models import Webhook, WebhookDelivery, WebhookTry, now


async def find(session: AsyncSession, project_id: str, id: str, *, lock: bool = False) -> Webhook | None:
    query = select(Webhook).where(Webhook.id == id, Webhook.project_id == project_id)
    webhook: Webhook | None = await session.scalar(query.with_for_update() if lock else query)
    return webhook


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
    row: WebhookDelivery | None = await session.scalar(query.with_for_update())
    return row


async def deliveries(
    session: AsyncSession, webhook_id: str, *, limit: int, after: str | None
) -> tuple[list[WebhookDelivery], bool]:
    delivery = WebhookDelivery
    query = select(delivery).where(delivery.webhook_id == webhook_id)
    query = newest_first(query, delivery.created_at, delivery.id, limit=limit, after=after)
    return cut((await session.scalars(query)).all(), limit)


async def tries(session: AsyncSession, delivery_id: str) -> Sequence[WebhookTry]:
    query = select(WebhookTry).where(WebhookTry.delivery_id == delivery_id)
    return (await session.scalars(query.order_by(WebhookTry.number))).all()


async def take_due(
    session: AsyncSession, *, most: int, lease: timedelta
) -> list[tuple[WebhookDelivery, Webhook]]:
    due = (
        select(WebhookDelivery)
        .where(WebhookDelivery.state == "pending", WebhookDelivery.next_at <= now())
        .order_by(WebhookDelivery.next_at)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    due_deliveries = []
    for delivery in await session.scalars(due):
        delivery.next_at = now() + lease
        due_deliveries.append((delivery, await session.get_one(Webhook, delivery.webhook_id)))
    return due_deliveries


async def give_up_all(session: AsyncSession, webhook_id: str) -> None:
    waiting = (WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.state == "pending")
    await session.execute(update(WebhookDelivery).where(*waiting).values(state="failed", ended_at=now()))


async def forget(session: AsyncSession, before: datetime) -> None:
    old = (WebhookDelivery.created_at < before, WebhookDelivery.state != "pending")
    await session.execute(delete(WebhookDelivery).where(*old))

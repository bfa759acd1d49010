"""Endpoints of webhooks and their deliveries."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from backend.access.auth import SettingsDep, Writer
from backend.data.database import DatabaseDep, Session
from backend.data.sealing import SealerDep
from backend.http.conditional import IfMatch, tagged
from backend.http.cursors import encode_cursor
from backend.http.idempotency import Once, OnceWhole
from backend.http.strict_json import StrictRoute
from backend.webhooks import repository, service
from reinforge.schemas.common import Page
from reinforge.schemas.webhooks import (
    WebhookChange,
    WebhookCreate,
    WebhookDeliveryDetail,
    WebhookDeliveryInfo,
    WebhookInfo,
    WebhookSecret,
)

router = APIRouter(prefix="/api/v1", tags=["webhooks"], route_class=StrictRoute)

Limit = Annotated[int, Query(ge=1, le=100)]


@router.post("/webhooks", status_code=201, response_model=WebhookSecret, operation_id="createWebhook")
async def create(
    body: WebhookCreate,
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    sealer: SealerDep,
    who: Writer,
    once: Once,
) -> Response:
    """Create a webhook. Only this response contains its secret. For owners."""
    await service.check_target(settings.guard, body.url)
    async with database.transaction() as session:
        if (stored := await once.begin(session, once.request_hash(await request.body()))) is not None:
            return stored
        hook, secret = await service.create(session, who, body, sealer)
        return await once.finish(session, 201, service.with_secret(hook, secret))


@router.get("/webhooks", operation_id="listWebhooks")
async def list_webhooks(
    session: Session, who: Writer, limit: Limit = 50, after: str | None = None
) -> Page[WebhookInfo]:
    """The project's webhooks, newest first. For owners."""
    hooks, more = await service.page(session, who, limit=limit, after=after)
    cursor = encode_cursor(hooks[-1].created_at, hooks[-1].id) if more else None
    return Page(data=[service.view(hook) for hook in hooks], has_more=more, next_cursor=cursor)


@router.get("/webhooks/{id}", operation_id="getWebhook")
async def get(id: str, response: Response, session: Session, who: Writer) -> WebhookInfo:
    """A webhook. For owners."""
    return tagged(service.view(await service.get(session, who, id)), response)


@router.patch("/webhooks/{id}", operation_id="changeWebhook")
async def change(
    id: str,
    body: WebhookChange,
    response: Response,
    database: DatabaseDep,
    settings: SettingsDep,
    match: IfMatch,
    who: Writer,
) -> WebhookInfo:
    """Change a webhook. For owners."""
    if body.url is not None:
        await service.check_target(settings.guard, body.url)
    async with database.transaction() as session:
        hook = await service.get(session, who, id, lock=True)
        match.check(service.view(hook))
        await service.change(session, hook, body)
        return tagged(service.view(hook), response)


@router.delete("/webhooks/{id}", status_code=204, operation_id="deleteWebhook")
async def delete(id: str, session: Session, who: Writer) -> None:
    """Delete a webhook with its pending deliveries. For owners."""
    await session.delete(await service.get(session, who, id, lock=True))


@router.post("/webhooks/{id}/rotate-secret", dependencies=[OnceWhole], operation_id="rotateWebhookSecret")
async def rotate(id: str, session: Session, sealer: SealerDep, who: Writer) -> WebhookSecret:
    """Replace the secret; for 24 hours the old one signs as well. For owners."""
    hook = await service.get(session, who, id, lock=True)
    return service.with_secret(hook, service.rotate(hook, sealer))


@router.post("/webhooks/{id}/test", status_code=202, dependencies=[OnceWhole], operation_id="testWebhook")
async def test(id: str, session: Session, who: Writer) -> WebhookDeliveryInfo:
    """Send a `webhook.test` event; its delivery shows the outcome. For owners."""
    return service.delivery_view(await service.send_test(session, await service.get(session, who, id)))


@router.get("/webhooks/{id}/deliveries", operation_id="listWebhookDeliveries")
async def deliveries(
    id: str, session: Session, who: Writer, limit: Limit = 50, after: str | None = None
) -> Page[WebhookDeliveryInfo]:
    """Deliveries of the last 30 days, newest first. For owners."""
    hook = await service.get(session, who, id)
    rows, more = await repository.deliveries(session, hook.id, limit=limit, after=after)
    cursor = encode_cursor(rows[-1].created_at, rows[-1].id) if more else None
    return Page(data=[service.delivery_view(row) for row in rows], has_more=more, next_cursor=cursor)


@router.get("/webhooks/{id}/deliveries/{delivery}", operation_id="getWebhookDelivery")
async def delivery(id: str, delivery: str, session: Session, who: Writer) -> WebhookDeliveryDetail:
    """A delivery, with its body and every attempt. For owners."""
    hook = await service.get(session, who, id)
    return await service.delivery_detail(session, await service.find_delivery(session, hook, delivery))


@router.post(
    "/webhooks/{id}/deliveries/{delivery}/resend",
    status_code=202,
    dependencies=[OnceWhole],
    operation_id="resendWebhookDelivery",
)
async def resend(id: str, delivery: str, session: Session, who: Writer) -> WebhookDeliveryInfo:
    """Send a delivery's id and body again, whatever its outcome was. For owners."""
    hook = await service.get(session, who, id)
    stored = await service.find_delivery(session, hook, delivery)
    service.resend(hook, stored)
    return service.delivery_view(stored)

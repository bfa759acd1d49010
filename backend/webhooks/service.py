"""Webhooks and their deliveries. Secrets are stored encrypted."""

import base64
import json
import secrets
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, require_owner
from backend.data.ids import new_id
from backend.data.sealing import Sealer
from backend.models import Webhook, WebhookDelivery, now
from backend.webhooks import events, repository
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.net.outbound import AddressRefused, Guard
from reinforge.net.webhook_signature import PREFIX
from reinforge.schemas.webhooks import (
    DeliveryTry,
    WebhookChange,
    WebhookCreate,
    WebhookDeliveryDetail,
    WebhookDeliveryInfo,
    WebhookInfo,
    WebhookSecret,
)

BOTH_SIGN_FOR = timedelta(hours=24)
MOST_WEBHOOKS = 50
_SECRET_BYTES = 24


async def get(session: AsyncSession, who: Principal, id: str, *, lock: bool = False) -> Webhook:
    require_owner(who, "webhooks")
    hook = await repository.find(session, who.project_id, id, lock=lock)
    if hook is None:
        raise NotFound(
            f"There is no webhook {id}.",
            code="webhook_not_found",
            hint="`reinforge webhook list` shows all.",
        )
    return hook


async def page(
    session: AsyncSession, who: Principal, *, limit: int, after: str | None
) -> tuple[list[Webhook], bool]:
    require_owner(who, "webhooks")
    return await repository.page(session, who.project_id, limit=limit, after=after)


async def check_target(guard: Guard, url: str) -> None:
    """Resolves names: use outside transactions. Raises InvalidInput."""
    try:
        await guard.target(url)
    except AddressRefused as error:
        raise InvalidInput(
            f"{str(error)[:1].upper()}{str(error)[1:]}.",
            code="url_not_allowed",
            param="url",
            hint="Give an address that this server can reach and may call.",
        ) from error


async def create(
    session: AsyncSession, who: Principal, body: WebhookCreate, sealer: Sealer
) -> tuple[Webhook, str]:
    require_owner(who, "webhooks")
    if len(await repository.listening(session, who.project_id)) >= MOST_WEBHOOKS:
        raise StateConflict(
            f"A project has {MOST_WEBHOOKS} webhooks at most.", code="too_many_webhooks", hint="Delete one."
        )
    id, secret = new_id("wh_"), _new_secret()
    hook = Webhook(
        id=id,
        project_id=who.project_id,
        url=body.url,
        description=body.description,
        events=sorted(set(body.events)),
        secret_sealed=sealer.seal(f"webhook:{id}", secret),
        enabled=True,
        created_by=who.name,
        updated_at=now(),
    )
    session.add(hook)
    await session.flush()
    return hook, secret


async def change(session: AsyncSession, hook: Webhook, body: WebhookChange) -> None:
    changes = body.model_dump(exclude_unset=True)
    for name in ("url", "events", "enabled"):
        if changes.get(name) is not None:
            setattr(hook, name, changes[name])
    if "description" in changes:
        hook.description = changes["description"]
    if changes.get("enabled"):
        hook.disabled_reason = None
    if changes.get("enabled") is False:
        await repository.give_up_all(session, hook.id)
    hook.updated_at = now()
    await session.flush()


def rotate(hook: Webhook, sealer: Sealer) -> str:
    secret = _new_secret()
    hook.old_secret_sealed, hook.old_secret_until = hook.secret_sealed, now() + BOTH_SIGN_FOR
    hook.secret_sealed, hook.updated_at = sealer.seal(f"webhook:{hook.id}", secret), now()
    return secret


async def send_test(session: AsyncSession, hook: Webhook) -> WebhookDelivery:
    _require_enabled(hook)
    test_delivery = events.delivery(hook, "webhook.test", {"id": hook.id}, new_id("evt_"))
    session.add(test_delivery)
    await session.flush()
    return test_delivery


async def find_delivery(session: AsyncSession, hook: Webhook, id: str) -> WebhookDelivery:
    row = await repository.find_delivery(session, hook.id, id)
    if row is None:
        raise NotFound(
            f"There is no delivery {id}.", code="delivery_not_found", hint="Deliveries are kept for 30 days."
        )
    return row


def resend(hook: Webhook, delivery: WebhookDelivery) -> None:
    _require_enabled(hook)
    delivery.state, delivery.next_at, delivery.ended_at = "pending", now(), None
    delivery.give_up_at = now() + events.RETRIED_FOR


def view(hook: Webhook) -> WebhookInfo:
    return WebhookInfo.model_validate(hook)


def with_secret(hook: Webhook, secret: str) -> WebhookSecret:
    return WebhookSecret(**view(hook).model_dump(), secret=secret)


def delivery_view(row: WebhookDelivery) -> WebhookDeliveryInfo:
    return WebhookDeliveryInfo(
        id=row.id,
        event=row.event_id,
        type=row.type,
        state=row.state,
        tries=row.tries,
        next_at=row.next_at if row.state == "pending" else None,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


async def delivery_detail(session: AsyncSession, row: WebhookDelivery) -> WebhookDeliveryDetail:
    log = [DeliveryTry.model_validate(attempt) for attempt in await repository.tries(session, row.id)]
    return WebhookDeliveryDetail(**delivery_view(row).model_dump(), body=json.loads(row.body), log=log)


def _new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def _require_enabled(hook: Webhook) -> None:
    if not hook.enabled:
        raise StateConflict(
            "The webhook is switched off.", code="webhook_disabled", hint="PATCH it with enabled: true."
        )

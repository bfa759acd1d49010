"""Webhook delivery, retried for at most 72 hours, without redirects."""

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from datetime import timedelta

import httpx

from backend.data.database import Database
from backend.data.sealing import Sealer
from backend.models import Webhook, WebhookDelivery, WebhookTry, now
from backend.webhooks import repository
from reinforge.errors import Unavailable
from reinforge.net.outbound import AddressRefused, Guard
from reinforge.net.webhook_signature import signed_headers

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 15.0
AT_ONCE = 20
LEASE = timedelta(seconds=60)
LOOK_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 6 * 3600.0
RETENTION = timedelta(days=30)
_HTTP_GONE = 410


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    status: int | None
    error: str | None
    milliseconds: float

    @property
    def received(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class _Order:
    id: str
    url: str
    body: bytes
    secrets: tuple[str, ...]


def pause(tries: int) -> float:
    usual: float = min(LONGEST_PAUSE_SECONDS, 5.0 * 4.0 ** min(tries - 1, 20))
    return usual * random.uniform(0.8, 1.2)


class Deliveries:
    def __init__(self, database: Database, sealer: Sealer, guard: Guard) -> None:
        self._database, self._sealer, self._guard = database, sealer, guard

    async def send_due(self) -> int:
        async with self._database.transaction() as session:
            due = await repository.take_due(session, most=AT_ONCE, lease=LEASE)
            orders = [self._order(delivery, hook) for delivery, hook in due]
        if orders:
            timeout = httpx.Timeout(TIMEOUT_SECONDS)
            async with httpx.AsyncClient(timeout=timeout, trust_env=False, follow_redirects=False) as client:
                await asyncio.gather(*(self._deliver(client, order) for order in orders))
        return len(orders)

    def _order(self, delivery: WebhookDelivery, hook: Webhook) -> _Order:
        sealed = [hook.secret_sealed]
        if hook.old_secret_sealed and hook.old_secret_until and hook.old_secret_until > now():
            sealed.append(hook.old_secret_sealed)
        try:
            secrets = tuple(
                self._sealer.open(f"webhook:{hook.id}", sealed_secret) for sealed_secret in sealed
            )
        except Unavailable as error:
            log.error("the delivery %s cannot be signed: %s", delivery.id, error.message)
            secrets = ()
        return _Order(delivery.id, hook.url, delivery.body.encode(), secrets)

    async def _deliver(self, client: httpx.AsyncClient, order: _Order) -> None:
        outcome = await self._send(client, order)
        async with self._database.transaction() as session:
            delivery = await session.get(WebhookDelivery, order.id, with_for_update=True)
            if delivery is None or delivery.state != "pending":
                return
            delivery.tries += 1
            session.add(
                WebhookTry(
                    delivery_id=order.id,
                    number=delivery.tries,
                    status=outcome.status,
                    error=outcome.error,
                    milliseconds=outcome.milliseconds,
                )
            )
            following = now() + timedelta(seconds=pause(delivery.tries))
            if outcome.received:
                delivery.state, delivery.ended_at = "delivered", now()
            elif outcome.status == _HTTP_GONE:
                hook = await session.get_one(Webhook, delivery.webhook_id, with_for_update=True)
                hook.enabled, hook.disabled_reason, hook.updated_at = False, "gone", now()
                await session.flush()
                await repository.give_up_all(session, hook.id)
                log.warning("the webhook %s is switched off: its receiver answers 410", hook.id)
            elif following > delivery.give_up_at:
                delivery.state, delivery.ended_at = "failed", now()
            else:
                delivery.next_at = following

    async def _send(self, client: httpx.AsyncClient, order: _Order) -> DeliveryOutcome:
        began = time.monotonic()

        def ended(status: int | None, error: str | None) -> DeliveryOutcome:
            return DeliveryOutcome(status, error, 1000 * (time.monotonic() - began))

        if not order.secrets:
            return ended(None, "its secret cannot be read with this server's secret key")
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                target = await self._guard.target(order.url)
                request = client.build_request(
                    "POST",
                    target.url,
                    content=order.body,
                    headers=_headers(order, target.host_header),
                    extensions={"sni_hostname": target.server_name},
                )
                response = await client.send(request, stream=True)
                await response.aclose()
        except AddressRefused as error:
            return ended(None, str(error))
        except TimeoutError:
            return ended(None, f"no answer within {TIMEOUT_SECONDS:g} s")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return ended(None, f"{type(error).__name__}: {error}"[:500])
        status = response.status_code
        return ended(status, None if 200 <= status < 300 else f"answered {status}")


def _headers(order: _Order, host: str) -> dict[str, str]:
    signed = [signed_headers(secret, order.id, order.body) for secret in order.secrets]
    together = " ".join(signature["webhook-signature"] for signature in signed)
    return {
        "content-type": "application/json",
        "user-agent": "Reinforge-Webhooks",
        "host": host,
        **signed[0],
        "webhook-signature": together,
    }


async def forget_old(database: Database) -> None:
    async with database.transaction() as session:
        await repository.forget(session, now() - RETENTION)

"""Webhooks: addresses that receive events."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.schemas.webhooks import (
    WebhookDeliveryDetail,
    WebhookDeliveryInfo,
    WebhookInfo,
    WebhookSecret,
)


class AsyncWebhooks:
    """Webhooks of the project. Verify requests with `reinforge.net.webhook_signature.verify`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self, url: str, *, events: Sequence[str] = (), description: str | None = None
    ) -> WebhookSecret:
        """Create a webhook, for all events if `events` is empty; only this response has its secret."""
        body = {"url": url, "events": list(events), "description": description}
        return WebhookSecret.model_validate(await self._transport.post("/webhooks", body))

    def list(self) -> AsyncIterator[WebhookInfo]:
        return iterate(self._transport, "/webhooks", WebhookInfo)

    async def get(self, id: str) -> WebhookInfo:
        return WebhookInfo.model_validate(await self._transport.get(f"/webhooks/{id}"))

    async def change(self, id: str, *, etag: str | None = None, **fields: Any) -> WebhookInfo:
        """Change a webhook. Fields: url, events, description, enabled."""
        return WebhookInfo.model_validate(await self._transport.patch(f"/webhooks/{id}", fields, etag=etag))

    async def delete(self, id: str) -> None:
        await self._transport.delete(f"/webhooks/{id}")

    async def rotate_secret(self, id: str) -> WebhookSecret:
        """Create a new secret; for 24 hours the old one signs too."""
        return WebhookSecret.model_validate(await self._transport.post(f"/webhooks/{id}/rotate-secret"))

    async def test(self, id: str) -> WebhookDeliveryInfo:
        return WebhookDeliveryInfo.model_validate(await self._transport.post(f"/webhooks/{id}/test"))

    def deliveries(self, id: str) -> AsyncIterator[WebhookDeliveryInfo]:
        return iterate(self._transport, f"/webhooks/{id}/deliveries", WebhookDeliveryInfo)

    async def delivery(self, id: str, delivery: str) -> WebhookDeliveryDetail:
        return WebhookDeliveryDetail.model_validate(
            await self._transport.get(f"/webhooks/{id}/deliveries/{delivery}")
        )

    async def resend(self, id: str, delivery: str) -> WebhookDeliveryInfo:
        return WebhookDeliveryInfo.model_validate(
            await self._transport.post(f"/webhooks/{id}/deliveries/{delivery}/resend")
        )

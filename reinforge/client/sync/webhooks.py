# Generated from reinforge/client/aio/webhooks.py by scripts/sync_client.py: change that file.
"""Webhooks: addresses that receive events."""

from collections.abc import Iterator, Sequence
from typing import Any

from reinforge.client.sync.paging import iterate
from reinforge.client.sync.transport import Transport
from reinforge.schemas.webhooks import (
    WebhookDeliveryDetail,
    WebhookDeliveryInfo,
    WebhookInfo,
    WebhookSecret,
)


class Webhooks:
    """Webhooks of the project. Verify requests with `reinforge.net.webhook_signature.verify`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, url: str, *, events: Sequence[str] = (), description: str | None = None
    ) -> WebhookSecret:
        """Create a webhook, for all events if `events` is empty; only this response has its secret."""
        body = {"url": url, "events": list(events), "description": description}
        return WebhookSecret.model_validate(self._transport.post("/webhooks", body))

    def list(self) -> Iterator[WebhookInfo]:
        return iterate(self._transport, "/webhooks", WebhookInfo)

    def get(self, id: str) -> WebhookInfo:
        return WebhookInfo.model_validate(self._transport.get(f"/webhooks/{id}"))

    def change(self, id: str, *, etag: str | None = None, **fields: Any) -> WebhookInfo:
        """Change a webhook. Fields: url, events, description, enabled."""
        return WebhookInfo.model_validate(self._transport.patch(f"/webhooks/{id}", fields, etag=etag))

    def delete(self, id: str) -> None:
        self._transport.delete(f"/webhooks/{id}")

    def rotate_secret(self, id: str) -> WebhookSecret:
        """Create a new secret; for 24 hours the old one signs too."""
        return WebhookSecret.model_validate(self._transport.post(f"/webhooks/{id}/rotate-secret"))

    def test(self, id: str) -> WebhookDeliveryInfo:
        return WebhookDeliveryInfo.model_validate(self._transport.post(f"/webhooks/{id}/test"))

    def deliveries(self, id: str) -> Iterator[WebhookDeliveryInfo]:
        return iterate(self._transport, f"/webhooks/{id}/deliveries", WebhookDeliveryInfo)

    def delivery(self, id: str, delivery: str) -> WebhookDeliveryDetail:
        return WebhookDeliveryDetail.model_validate(
            self._transport.get(f"/webhooks/{id}/deliveries/{delivery}")
        )

    def resend(self, id: str, delivery: str) -> WebhookDeliveryInfo:
        return WebhookDeliveryInfo.model_validate(
            self._transport.post(f"/webhooks/{id}/deliveries/{delivery}/resend")
        )

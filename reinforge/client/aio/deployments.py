"""Deployments: weights under a name, asked at `/v1/chat/completions`."""

import asyncio
import time
from collections.abc import AsyncIterator

from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.protocol import Outage
from reinforge.client.shared import DEPLOYMENT_POLL_SECONDS
from reinforge.schemas.deployments import DeploymentInfo


class AsyncDeployments:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        name: str,
        *,
        adapter: str | None = None,
        checkpoint: str | None = None,
        model: str | None = None,
    ) -> DeploymentInfo:
        """Put an adapter, a checkpoint or a base model (exactly one of them) under a name."""
        body = {"name": name, "adapter": adapter, "checkpoint": checkpoint, "model": model}
        return DeploymentInfo.model_validate(await self._transport.post("/deployments", body))

    def list(self) -> AsyncIterator[DeploymentInfo]:
        """Newest first."""
        return iterate(self._transport, "/deployments", DeploymentInfo)

    async def get(self, name: str) -> DeploymentInfo:
        """By name or id."""
        return DeploymentInfo.model_validate(await self._transport.get(f"/deployments/{name}"))

    async def point(
        self,
        name: str,
        *,
        adapter: str | None = None,
        checkpoint: str | None = None,
        model: str | None = None,
        etag: str | None = None,
    ) -> DeploymentInfo:
        """Other weights behind the name; what is under way ends with the old ones.

        `etag` of the deployment as you saw it; without it, as it is now.
        """
        body = {"adapter": adapter, "checkpoint": checkpoint, "model": model}
        return DeploymentInfo.model_validate(
            await self._transport.patch(f"/deployments/{name}", body, etag=etag)
        )

    async def start(self, name: str) -> DeploymentInfo:
        """Take requests again."""
        return DeploymentInfo.model_validate(await self._transport.post(f"/deployments/{name}/start"))

    async def stop(self, name: str) -> DeploymentInfo:
        """Take no more requests; those under way end first."""
        return DeploymentInfo.model_validate(await self._transport.post(f"/deployments/{name}/stop"))

    async def delete(self, name: str) -> None:
        """It has to be stopped."""
        await self._transport.delete(f"/deployments/{name}")

    async def wait(self, name: str, *, timeout: float = 600.0) -> DeploymentInfo:
        """Until it neither loads nor drains. Raises TimeoutError. A server that goes away meanwhile is waited for."""
        give_up, outage = time.monotonic() + timeout, Outage()
        while True:
            document = await self._transport.get_through_outage(f"/deployments/{name}", outage, give_up)
            deployment = DeploymentInfo.model_validate(document)
            if deployment.state not in ("loading", "draining"):
                return deployment
            if time.monotonic() > give_up:
                raise TimeoutError(f"{name} is still {deployment.state} after {timeout:g} s.")
            await asyncio.sleep(DEPLOYMENT_POLL_SECONDS)

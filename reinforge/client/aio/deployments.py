"""Deployments: weights served under a name at `/v1/chat/completions`."""

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
        run_tools: bool | None = None,
    ) -> DeploymentInfo:
        """Deploy exactly one of an adapter, a checkpoint and a base model under a name.

        run_tools: run the tools of the job that trained the weights; answer with the last message.
        """
        body = {
            "name": name, "adapter": adapter, "checkpoint": checkpoint, "model": model, "run_tools": run_tools,
        }  # fmt: skip
        return DeploymentInfo.model_validate(await self._transport.post("/deployments", body))

    def list(self) -> AsyncIterator[DeploymentInfo]:
        return iterate(self._transport, "/deployments", DeploymentInfo)

    async def get(self, name: str) -> DeploymentInfo:
        """Get by name or id."""
        return DeploymentInfo.model_validate(await self._transport.get(f"/deployments/{name}"))

    async def point(
        self,
        name: str,
        *,
        adapter: str | None = None,
        checkpoint: str | None = None,
        model: str | None = None,
        run_tools: bool | None = None,
        etag: str | None = None,
    ) -> DeploymentInfo:
        """Switch to other weights; running requests finish on the old. run_tools: None keeps the setting."""
        body = {"adapter": adapter, "checkpoint": checkpoint, "model": model, "run_tools": run_tools}
        return DeploymentInfo.model_validate(
            await self._transport.patch(f"/deployments/{name}", body, etag=etag)
        )

    async def start(self, name: str) -> DeploymentInfo:
        return DeploymentInfo.model_validate(await self._transport.post(f"/deployments/{name}/start"))

    async def stop(self, name: str) -> DeploymentInfo:
        """Stop a deployment: it refuses new requests and finishes running ones."""
        return DeploymentInfo.model_validate(await self._transport.post(f"/deployments/{name}/stop"))

    async def delete(self, name: str) -> None:
        await self._transport.delete(f"/deployments/{name}")

    async def wait(self, name: str, *, timeout: float = 600.0) -> DeploymentInfo:
        """Wait until a deployment is ready, stopped or failed.

        Raises TimeoutError after `timeout` seconds.
        """
        give_up, outage = time.monotonic() + timeout, Outage()
        while True:
            document = await self._transport.get_through_outage(f"/deployments/{name}", outage, give_up)
            deployment = DeploymentInfo.model_validate(document)
            if deployment.state not in ("loading", "draining"):
                return deployment
            if time.monotonic() > give_up:
                raise TimeoutError(f"{name} is still {deployment.state} after {timeout:g} s.")
            await asyncio.sleep(DEPLOYMENT_POLL_SECONDS)

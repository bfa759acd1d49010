# Generated from reinforge/client/aio/deployments.py by scripts/sync_client.py: change that file.
"""Deployments: weights served under a name at `/v1/chat/completions`."""

import time
from collections.abc import Iterator

from reinforge.client.protocol import Outage
from reinforge.client.shared import DEPLOYMENT_POLL_SECONDS
from reinforge.client.sync.paging import iterate
from reinforge.client.sync.transport import Transport
from reinforge.schemas.deployments import DeploymentInfo


class Deployments:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
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
        return DeploymentInfo.model_validate(self._transport.post("/deployments", body))

    def list(self) -> Iterator[DeploymentInfo]:
        return iterate(self._transport, "/deployments", DeploymentInfo)

    def get(self, name: str) -> DeploymentInfo:
        """Get by name or id."""
        return DeploymentInfo.model_validate(self._transport.get(f"/deployments/{name}"))

    def point(
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
        return DeploymentInfo.model_validate(self._transport.patch(f"/deployments/{name}", body, etag=etag))

    def start(self, name: str) -> DeploymentInfo:
        return DeploymentInfo.model_validate(self._transport.post(f"/deployments/{name}/start"))

    def stop(self, name: str) -> DeploymentInfo:
        """Stop a deployment: it refuses new requests and finishes running ones."""
        return DeploymentInfo.model_validate(self._transport.post(f"/deployments/{name}/stop"))

    def delete(self, name: str) -> None:
        self._transport.delete(f"/deployments/{name}")

    def wait(self, name: str, *, timeout: float = 600.0) -> DeploymentInfo:
        """Wait until a deployment is ready, stopped or failed.

        Raises TimeoutError after `timeout` seconds.
        """
        give_up, outage = time.monotonic() + timeout, Outage()
        while True:
            document = self._transport.get_through_outage(f"/deployments/{name}", outage, give_up)
            deployment = DeploymentInfo.model_validate(document)
            if deployment.state not in ("loading", "draining"):
                return deployment
            if time.monotonic() > give_up:
                raise TimeoutError(f"{name} is still {deployment.state} after {timeout:g} s.")
            time.sleep(DEPLOYMENT_POLL_SECONDS)

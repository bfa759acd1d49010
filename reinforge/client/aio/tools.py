"""Checks and runs of the tools of an environment, without a job."""

import json
from collections.abc import Sequence
from typing import Any

from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.protocol import WORKER_SECONDS
from reinforge.schemas.tools import ToolRunResult, ToolsCheckResult


class AsyncTools:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def check(self, sources: Sequence[dict[str, Any]]) -> ToolsCheckResult:
        """Get the tools' schemas, or problems by source and line. sources: as in a job file."""
        return ToolsCheckResult.model_validate(
            await self._transport.post("/tools/check", {"sources": list(sources)}, at_least=WORKER_SECONDS)
        )

    async def run(
        self,
        environment: dict[str, Any],
        calls: Sequence[tuple[str, dict[str, Any]]] = (),
        *,
        item: dict[str, Any] | None = None,
        **options: Any,
    ) -> ToolRunResult:
        """Run one turn's calls, `(name, arguments)`, in a worker's sandbox. options: fields of `ToolRun`."""
        body = {
            "environment": environment,
            "calls": [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls],
            "item": item or {},
        }
        return ToolRunResult.model_validate(
            await self._transport.post("/tools/run", body | options, at_least=WORKER_SECONDS)
        )

# Generated from reinforge/client/aio/tools.py by scripts/sync_client.py: change that file.
"""Checks and runs of the tools of an environment, without a job."""

import json
from collections.abc import Sequence
from typing import Any

from reinforge.client.protocol import WORKER_SECONDS
from reinforge.client.sync.transport import Transport
from reinforge.schemas.tools import ToolRunResult, ToolsCheckResult


class Tools:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def check(self, sources: Sequence[dict[str, Any]]) -> ToolsCheckResult:
        """Get the tools' schemas, or problems by source and line. sources: as in a job file."""
        return ToolsCheckResult.model_validate(
            self._transport.post("/tools/check", {"sources": list(sources)}, at_least=WORKER_SECONDS)
        )

    def run(
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
            self._transport.post("/tools/run", body | options, at_least=WORKER_SECONDS)
        )

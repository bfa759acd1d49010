"""What servers of tools have in common: addresses, concurrency, failures, and a breaker."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reinforge.errors import InvalidInput, JobFailure
from reinforge.net.outbound import Guard
from reinforge.tools import CallStatus
from worker.environment.tools.base import MAX_RESULT_CHARACTERS, ToolRequest, ToolResult
from worker.rewards.network import NetworkLoop, RequestFailed
from worker.sandbox.jailed.tool_texts import clean, shortened

FAILED_TURNS = 3
_KINDS: Mapping[str, CallStatus] = {"refused": "refused_address", "timeout": "timeout"}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server of tools, reached under the address rules of judges.

    include: names of the tools to offer; empty for all. concurrency: most requests at once.
    """

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    include: frozenset[str] = frozenset()
    timeout_seconds: float = 30.0
    concurrency: int = 8
    most_characters: int = MAX_RESULT_CHARACTERS


class ToolServerError(InvalidInput):
    """A server that cannot be used: not reached, of another version, or with tools that cannot be offered."""

    default_code = "tool_server_unusable"


@dataclass(slots=True)
class ServerCalls:
    """Runs the calls of a turn at once. Raises JobFailure `tool_server_unavailable` after FAILED_TURNS turns in a row
    in which the server answered no call.
    """

    address: ServerAddress
    network: NetworkLoop
    guard: Guard
    failed_turns: int = 0

    def run(
        self,
        requests: Sequence[ToolRequest],
        call: Callable[[ToolRequest], Awaitable[tuple[CallStatus, str]]],
    ) -> list[ToolResult]:
        results = self.network.wait(self._all(requests, call))
        silent = bool(results) and all(
            result.status in ("unreachable", "refused_address", "timeout") for result in results
        )
        self.failed_turns = self.failed_turns + 1 if silent else 0
        if self.failed_turns >= FAILED_TURNS:
            raise JobFailure(
                f"The tool server {self.address.name} answered none of the calls of {FAILED_TURNS} turns in a row. "
                f"Last: {results[-1].text}",
                code="tool_server_unavailable",
                hint="Check the server and its address, then resume the job.",
                retryable=True,
            )
        return results

    async def _all(
        self,
        requests: Sequence[ToolRequest],
        call: Callable[[ToolRequest], Awaitable[tuple[CallStatus, str]]],
    ) -> list[ToolResult]:
        places = asyncio.Semaphore(self.address.concurrency)

        async def one(request: ToolRequest) -> ToolResult:
            async with places:
                began = time.monotonic()
                try:
                    status, text = await call(request)
                except RequestFailed as error:
                    status = _KINDS.get(error.kind, "unreachable")
                    text = f"{request.name}: {error.message}"
                text = readable(text, self.address.most_characters)
                if status != "ok" and not text.strip():
                    text = f"{request.name} failed without a message."
                return ToolResult(status, text, request.state, 1000 * (time.monotonic() - began))

        return list(await asyncio.gather(*map(one, requests)))


def readable(text: str, most: int) -> str:
    return clean(shortened(text, most).encode("utf-8", "replace").decode())


def rollout_headers(address: ServerAddress, seed: int) -> dict[str, str]:
    """`X-Reinforge-Rollout` tells rollouts apart, for servers that hold state."""
    return {**address.headers, "x-reinforge-rollout": str(seed)}

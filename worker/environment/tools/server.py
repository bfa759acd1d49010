"""Common parts of tool servers: address, concurrent calls, failures, and a circuit breaker."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reinforge.environment_spec import McpSource, OpenEnvSource, source_name
from reinforge.errors import InvalidInput, JobFailure
from reinforge.tools import CallStatus
from worker.environment.tools.base import MAX_RESULT_CHARACTERS, ToolRequest, ToolResult
from worker.environment.tools.recorded import UNANSWERED, RecordedCalls
from worker.rewards.network import NetworkLoop, RequestFailed
from worker.sandbox.jailed.tool_texts import clean, shortened

FAILED_TURNS = 3
SILENT_SECONDS = 5.0
"""Seconds without an answer before a server counts as lost: failed turns may end within milliseconds."""
_KINDS: Mapping[str, CallStatus] = {"refused": "refused_address", "timeout": "timeout"}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Address of a tool server; the same address rules apply as for judges.

    include: names of the tools to offer; empty for all. concurrency: maximum number of concurrent requests.
    secret: signs requests.
    """

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    include: frozenset[str] = frozenset()
    timeout_seconds: float = 30.0
    concurrency: int = 8
    most_characters: int = MAX_RESULT_CHARACTERS
    secret: str | None = field(default=None, repr=False)


def address_of(number: int, source: McpSource | OpenEnvSource, secret: str | None) -> ServerAddress:
    return ServerAddress(
        source_name(number, source),
        source.url,
        headers=source.headers,
        include=frozenset(source.include),
        timeout_seconds=source.timeout_seconds,
        concurrency=source.concurrency,
        secret=secret,
    )


class ToolServerError(InvalidInput):
    """A tool server is unreachable, or its version or its tools are not supported."""

    default_code = "tool_server_unusable"


@dataclass(slots=True)
class ServerCalls:
    """Runs the calls of a turn concurrently; a server that hangs delays a turn by about two timeouts. Raises
    JobFailure `tool_server_unavailable` if the server answers no call in FAILED_TURNS consecutive turns and
    for at least SILENT_SECONDS.
    """

    address: ServerAddress
    network: NetworkLoop
    recorded: RecordedCalls = field(default_factory=RecordedCalls)
    failed_turns: int = 0
    _answered_at: float = field(default_factory=time.monotonic, init=False)
    _places: asyncio.Semaphore = field(init=False)
    """Limits the concurrent requests of all batches together."""

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.address.concurrency)

    def run(
        self,
        requests: Sequence[ToolRequest],
        call: Callable[[ToolRequest], Awaitable[tuple[CallStatus, str]]],
    ) -> list[ToolResult]:
        began = time.monotonic()
        results = self.network.wait(self._all(requests, call))
        silent = bool(results) and all(result.status in UNANSWERED for result in results)
        if self.failed_turns == 0:
            self._answered_at = began
        self.failed_turns = self.failed_turns + 1 if silent else 0
        if self.failed_turns >= FAILED_TURNS and time.monotonic() - self._answered_at >= SILENT_SECONDS:
            raise JobFailure(
                f"The tool server {self.address.name} answered none of the calls of {FAILED_TURNS} turns in a row. "
                f"Last error: {results[-1].text}",
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
        unanswered = 0

        async def one(request: ToolRequest) -> ToolResult:
            nonlocal unanswered
            async with self._places:
                if unanswered >= 2 * self.address.concurrency:
                    text = f"{request.name}: the server answered none of {unanswered} calls in a row."
                    return ToolResult("unreachable", text, request.state, 0.0)
                began = time.monotonic()
                status, text = await self._result(request, call)
                unanswered = unanswered + 1 if status in UNANSWERED else 0
                return ToolResult(status, text, request.state, 1000 * (time.monotonic() - began))

        return list(await asyncio.gather(*map(one, requests)))

    async def _result(
        self,
        request: ToolRequest,
        call: Callable[[ToolRequest], Awaitable[tuple[CallStatus, str]]],
    ) -> tuple[CallStatus, str]:
        url = self.address.url
        if (recorded := self.recorded.get(url, request)) is not None:
            return recorded
        try:
            status, text = await call(request)
        except RequestFailed as error:
            status = _KINDS.get(error.kind, "unreachable")
            text = f"{request.name}: {error.message}"
        text = readable(text, self.address.most_characters)
        if status != "ok" and not text.strip():
            text = f"{request.name} failed without a message."
        self.recorded.put(url, request, status, text)
        return status, text


def readable(text: str, most: int) -> str:
    return clean(shortened(text, most).encode("utf-8", "replace").decode())


def rollout_headers(address: ServerAddress, request: ToolRequest) -> dict[str, str]:
    """Request headers. `X-Reinforge-Rollout` identifies the rollout to servers with state, also after the job
    is resumed.
    """
    return {**address.headers, "x-reinforge-rollout": f"{request.seed}-{request.sample_no}"}

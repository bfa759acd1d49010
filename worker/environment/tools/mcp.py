"""Tools of an MCP server over streamable HTTP."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import count
from secrets import token_hex
from typing import Any

from reinforge.net.outbound import Guard
from reinforge.net.webhook_signature import signed_headers
from reinforge.tools import CallStatus, ToolSchema
from worker.environment.tools import json_rpc
from worker.environment.tools.base import ToolEnd, ToolRequest, ToolResult, ToolReward, ToolStart
from worker.environment.tools.offers import (
    as_expected,
    check_size,
    complete,
    not_reached,
    offer,
    server_error,
)
from worker.environment.tools.recorded import RecordedCalls
from worker.environment.tools.server import (
    ServerAddress,
    ServerCalls,
    ToolServerError,
    rollout_headers,
)
from worker.rewards.network import Exchange, NetworkLoop, RequestFailed, ServerClient, ServerReply

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""Supported protocol versions, newest first."""
MAX_PAGES = 16
LISTING_SECONDS = 15.0
"""Time limit for connecting and reading all pages of the tool list."""
_ACCEPT = "application/json, text/event-stream"
_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
_INVALID_PARAMS, _NO_SUCH_METHOD = -32602, -32601


class McpServer:
    """Tools of one server. Sends `initialize` and `tools/list` at creation, then one `tools/call` per call.

    expected: tools at the job's creation, in any order. guard: None under `reinforge train`, whose user chose
    the servers. Raises ToolServerError.
    """

    starts = scores = False

    def __init__(
        self,
        address: ServerAddress,
        network: NetworkLoop,
        guard: Guard | None,
        *,
        expected: Sequence[ToolSchema] | None = None,
        recorded: RecordedCalls | None = None,
    ) -> None:
        self._address, self._network = address, network
        self._calls = ServerCalls(address, network, recorded or RecordedCalls())
        self._client = ServerClient(address.url, guard, proxied=False)
        self._session: dict[str, str] = {}
        self._connecting = asyncio.Lock()
        self._ids = count(1)
        try:
            self.schemas = as_expected(address, expected, network.wait(self._connect()))
        except BaseException:
            self.close()
            raise

    def start(self, rollouts: Sequence[ToolStart]) -> list[ToolResult]:
        raise NotImplementedError(
            "an MCP server only provides tools and cannot reset a rollout; use an OpenEnv server for that"
        )

    def reward(self, rollouts: Sequence[ToolEnd], source: int) -> list[ToolReward]:
        raise NotImplementedError(
            "an MCP server only provides tools and cannot score a rollout; use an OpenEnv server for that"
        )

    def release(self, rollouts: Sequence[ToolEnd]) -> None:
        """Do nothing: all rollouts share one session."""

    def call(self, requests: Sequence[ToolRequest]) -> list[ToolResult]:
        return self._calls.run(requests, self._call)

    def close(self) -> None:
        self._network.wait(self._client.aclose())

    async def _connect(self) -> tuple[ToolSchema, ...]:
        try:
            async with asyncio.timeout(LISTING_SECONDS):
                await self._initialize()
                return await self._list()
        except TimeoutError as error:
            raise self._error(
                f"it did not list its tools within {LISTING_SECONDS:g} s",
                "tool_server_unreachable",
                "Check that the server runs and answers at its address.",
            ) from error
        except RequestFailed as error:
            hint = "Check its address: it must be that of an MCP server over HTTP."
            raise not_reached(self._address, error, hint=hint) from error
        except json_rpc.RpcMalformed as error:
            raise self._error(
                str(error), "tool_server_unusable", "Check that its address is its MCP endpoint."
            ) from error
        except json_rpc.RpcError as error:
            raise self._error(
                f"it answers with error {error.code}: {error.message}",
                "tool_server_unusable",
                "Read the server's own log.",
            ) from error

    async def _initialize(self) -> None:
        params = {
            "protocolVersion": VERSIONS[0],
            "capabilities": {},
            "clientInfo": {"name": "reinforge", "version": "1"},
        }
        session: dict[str, str] = {}
        answer = await self._ask("initialize", params, self._address.headers, session)
        version = answer.get("protocolVersion")
        if version not in VERSIONS:
            raise self._error(
                f"it speaks version {str(version)[:40]!r} of the protocol, which is not supported",
                "mcp_version_unsupported",
                f"Use a server that supports one of these versions: {', '.join(VERSIONS)}.",
            )
        self._session = session | {_VERSION: str(version)}
        await self._notify("notifications/initialized")

    async def _begin_again(self, session: Mapping[str, str]) -> None:
        """Replace a session that the server refused, unless another call has already done so."""
        async with self._connecting:
            if self._session is session:
                await self._initialize()

    async def _list(self) -> tuple[ToolSchema, ...]:
        schemas: list[ToolSchema] = []
        cursor: Any = None
        for _ in range(MAX_PAGES):
            params = {"cursor": cursor} if cursor is not None else {}
            page = await self._ask("tools/list", params, self._address.headers)
            schemas += self._offered(page.get("tools"))
            check_size(self._address, schemas)
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                break
        return complete(self._address, schemas)

    def _offered(self, tools: Any) -> list[ToolSchema]:
        if not isinstance(tools, list):
            raise json_rpc.RpcMalformed("its answer to tools/list has no list of tools")
        schemas = []
        for tool in tools:
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(name, str):
                raise json_rpc.RpcMalformed("a tool has no name")
            if not self._address.include or name in self._address.include:
                schemas.append(offer(self._address, name, tool.get("description"), tool.get("inputSchema")))
        return schemas

    async def _call(self, request: ToolRequest) -> tuple[CallStatus, str]:
        params = {"name": request.name, "arguments": request.arguments}
        headers = rollout_headers(self._address, request)
        session = self._session
        try:
            try:
                answer = await self._ask("tools/call", params, headers)
            except RequestFailed as error:
                if error.status != 404 or _SESSION not in session:
                    raise
                await self._begin_again(session)  # the server forgot the session; the call was not run
                answer = await self._ask("tools/call", params, headers)
        except json_rpc.RpcError as error:
            code: CallStatus = "exception"
            if error.code == _INVALID_PARAMS:
                code = "bad_arguments"
            elif error.code == _NO_SUCH_METHOD:
                code = "unknown_tool"
            return code, f"{request.name}: {error.message}"
        except (json_rpc.RpcMalformed, ToolServerError) as error:
            return "unreachable", f"{request.name}: {error}"
        return ("exception" if answer.get("isError") is True else "ok"), text_of(answer)

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any],
        headers: Mapping[str, str],
        new_session: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request. new_session: begin a session and store its header here. Raises RequestFailed,
        RpcError, RpcMalformed.
        """
        id = next(self._ids)
        body = json_rpc.request(method, params, id)
        if new_session is None:
            headers = {**headers, **self._session}
        reply = await self._send(body, headers, json_rpc.AnswerWatch(id))
        session = reply.headers.get(_SESSION, "")
        if (
            new_session is not None
            and session.isascii()
            and session.isprintable()
            and 0 < len(session) <= 512
        ):
            new_session[_SESSION] = session
        return json_rpc.result(reply.content, reply.headers, id)

    async def _notify(self, method: str) -> None:
        headers = {**self._address.headers, **self._session}
        await self._send(json_rpc.request(method, {}, None), headers)

    async def _send(
        self, body: bytes, headers: Mapping[str, str], whole: json_rpc.AnswerWatch | None = None
    ) -> ServerReply:
        address = self._address
        signature = signed_headers(address.secret, f"mcp_{token_hex(16)}", body) if address.secret else {}
        exchange = Exchange(body, {**headers, **signature}, accept=_ACCEPT, whole=whole)
        return await self._client.send(exchange, seconds=address.timeout_seconds)

    def _error(self, message: str, code: str, hint: str) -> ToolServerError:
        return server_error(self._address, message, code, hint)


def text_of(answer: Mapping[str, Any]) -> str:
    content = answer.get("content")
    parts = []
    for part in content if isinstance(content, list) else []:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            parts.append(part["text"])
        elif kind is not None:
            parts.append(f"[{str(kind)[:40]} that cannot be shown]")
    if not parts and isinstance(answer.get("structuredContent"), dict):
        return json.dumps(answer["structuredContent"], ensure_ascii=False)
    return "\n".join(parts)

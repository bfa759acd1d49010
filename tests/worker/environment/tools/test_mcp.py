"""MCP servers: right answers in both framings; each fault is one status, or an error at creation."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reinforge.errors import InvalidInput, JobFailure
from reinforge.net.outbound import Guard
from reinforge.net.webhook_signature import verify
from tests.support.mcp_stub import ECHO, SEARCH, Faults, McpStub
from worker.environment.tools import mcp
from worker.environment.tools.base import ToolRequest, ToolResult, past_call
from worker.environment.tools.mcp import McpServer
from worker.environment.tools.recorded import RecordedCalls
from worker.environment.tools.runner import Tools
from worker.environment.tools.server import FAILED_TURNS, ServerAddress
from worker.rewards.network import NetworkLoop

LOOPBACK = Guard.allowing("127.0.0.0/8")


@pytest.fixture(scope="module")
def network() -> Iterator[NetworkLoop]:
    network = NetworkLoop()
    yield network
    network.close()


def connect(stub: McpStub, network: NetworkLoop, **options: Any) -> McpServer:
    guard = options.pop("guard", LOOPBACK)
    more = {name: options.pop(name) for name in ("expected", "recorded") if name in options}
    address = ServerAddress("docs", stub.url, **{"timeout_seconds": 30.0, **options})
    return McpServer(address, network, guard, **more)


def search(rollout: int = 0, query: str = "x") -> ToolRequest:
    seed = 100 + rollout // 2  # the samples of a prompt share it
    return ToolRequest(rollout, {}, 0, "search", {"query": query}, "{}", (), seed=seed, sample_no=rollout % 2)


def one(server: McpServer) -> ToolResult:
    return server.call([search()])[0]


@pytest.mark.parametrize("stream", [False, True], ids=["json", "events"])
def test_tools_are_listed_and_called(network: NetworkLoop, stream: bool) -> None:
    with McpStub(stream=stream) as stub:
        server = connect(stub, network, headers={"authorization": "Bearer key"})
        tools = Tools({"docs": server})
        assert [schema.name for schema in server.schemas] == ["search", "echo"]
        assert server.schemas[0].function.parameters == SEARCH["inputSchema"]
        results = tools.run([search(i, f"q{i}") for i in range(20)])
        assert [result.text for result in results] == [f'{{"query": "q{i}"}}' for i in range(20)]
        assert all(result.status == "ok" and result.state == "{}" for result in results)
        calls = [headers for headers, message in stub.requests if message["method"] == "tools/call"]
        assert sorted(headers["x-reinforge-rollout"] for headers in calls) == [
            f"{100 + i // 2}-{i % 2}" for i in range(20)
        ]
        assert {headers["mcp-session-id"] for headers in calls} == {"session-1"}
        assert {headers["mcp-protocol-version"] for headers in calls} == {"2025-06-18"}
        assert {headers["authorization"] for headers, _ in stub.requests} == {"Bearer key"}
        tools.close()


def in_calls(fault: Faults) -> Any:
    return lambda stub, message: fault if message["method"] == "tools/call" else None


TEXT = {"type": "text", "text": "no such page"}


@pytest.mark.parametrize(
    ("fault", "status", "text"),
    [
        (Faults(hang=True), "timeout", "no complete answer within 0.5 s"),
        (Faults(status=302, headers={"location": "/"}), "unreachable", "redirects are not followed"),
        (Faults(status=500), "unreachable", "the server answers 500"),
        (Faults(body=b"x" * (2 << 20)), "unreachable", "more than 1 MiB"),
        (Faults(body=b"[" * 100_000), "unreachable", "a JSON-RPC response"),
        (Faults(body=b"\xff\xfe"), "unreachable", "a JSON-RPC response"),
        (Faults(body=b'{"jsonrpc": "2.0", "id": 999, "result": {}}'), "unreachable", "a JSON-RPC response"),
        (Faults(result=[1]), "unreachable", "a JSON-RPC response"),
        (Faults(error={"code": -32602, "message": "query is missing"}), "bad_arguments", "query is missing"),
        (Faults(error={"code": -32601, "message": "no such tool"}), "unknown_tool", "no such tool"),
        (Faults(error={"code": "x", "message": ["odd"]}), "exception", "odd"),
        (Faults(result={"content": [TEXT], "isError": True}), "exception", "no such page"),
        (Faults(result={"isError": True}), "exception", "search failed without a message."),
        (Faults(result={"content": [TEXT, {"type": "image"}, 3]}), "ok", "no such page\n[image that cannot be shown]"),
        (Faults(result={"content": [{"type": "text", "text": "a\0b\ud800"}]}), "ok", "a b?"),
        (Faults(result={"structuredContent": {"a": 1}}), "ok", '{"a": 1}'),
        (Faults(result={}), "ok", ""),
    ],
)  # fmt: skip
def test_each_fault_of_a_call_is_one_status(
    network: NetworkLoop, fault: Faults, status: str, text: str
) -> None:
    with McpStub(in_calls(fault)) as stub:
        server = connect(stub, network)
        if fault.hang:
            server._address = replace(server._address, timeout_seconds=0.5)
        result = one(server)
        assert result.status == status and text in result.text
        server.close()


def test_a_long_result_is_shortened(network: NetworkLoop) -> None:
    answer = {"content": [{"type": "text", "text": "x" * 50_000}]}
    with McpStub(in_calls(Faults(result=answer))) as stub:
        server = connect(stub, network, most_characters=300)
        result = one(server)
        assert len(result.text) == 300 and "characters left out" in result.text
        server.close()


def test_a_session_that_the_server_forgot_is_begun_again(network: NetworkLoop) -> None:
    def script(stub: McpStub, message: dict[str, Any]) -> Faults | None:
        gone = message["method"] == "tools/call" and stub.sessions == 1
        return Faults(status=404) if gone else None

    with McpStub(script) as stub:
        server = connect(stub, network)
        assert one(server).status == "ok" and stub.sessions == 2
        server.close()


def test_the_job_pauses_when_the_server_is_gone(
    network: NetworkLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with McpStub(in_calls(Faults(status=503))) as stub:
        server = connect(stub, network)
        for _ in range(FAILED_TURNS):  # within milliseconds
            assert {result.status for result in server.call([search(0), search(1)])} == {"unreachable"}
        monkeypatch.setattr("worker.environment.tools.server.SILENT_SECONDS", 0.0)
        server._calls.failed_turns = 0
        for _ in range(FAILED_TURNS - 1):
            assert {result.status for result in server.call([search(0), search(1)])} == {"unreachable"}
        with pytest.raises(JobFailure) as failure:
            server.call([search(0)])
        assert failure.value.code == "tool_server_unavailable"
        server.close()


def listing(*tools: Any) -> dict[str, Any]:
    return {"tools": list(tools)}


LARGE = [ECHO | {"name": f"t{n}", "inputSchema": {"d": "x" * 30_000}} for n in range(9)]


def in_method(method: str, fault: Faults) -> Any:
    return lambda stub, message: fault if message["method"] == method else None


@pytest.mark.parametrize(
    ("stub", "options", "code"),
    [
        (McpStub(version="2030-01-01"), {}, "mcp_version_unsupported"),
        (McpStub(in_method("initialize", Faults(result={}))), {}, "mcp_version_unsupported"),
        (McpStub(in_method("initialize", Faults(hang=True))), {"timeout_seconds": 0.3}, "tool_server_unreachable"),
        (McpStub(in_method("initialize", Faults(status=301))), {}, "tool_server_unreachable"),
        (McpStub(in_method("initialize", Faults(body=b"<html>"))), {}, "tool_server_unusable"),
        (McpStub(in_method("tools/list", Faults(error={"code": 1, "message": "no"}))), {}, "tool_server_unusable"),
        (McpStub(in_method("tools/list", Faults(result={"tools": 3}))), {}, "tool_server_unusable"),
        (McpStub(in_method("tools/list", Faults(result=listing(7)))), {}, "tool_server_unusable"),
        (McpStub(in_method("tools/list", Faults(result=listing()))), {}, "no_tools"),
        (McpStub(in_method("tools/list", Faults(result=listing(ECHO, ECHO)))), {}, "tool_name_twice"),
        (McpStub(tools=[{"name": "a.b/c", "inputSchema": {}}]), {}, "tool_name_invalid"),
        (McpStub(tools=[{"name": "a"}]), {}, "tool_schema_invalid"),
        (McpStub(tools=[ECHO | {"inputSchema": {"d": "x" * 40_000}}]), {}, "tool_schema_invalid"),
        (McpStub(tools=[ECHO | {"inputSchema": {"d": float("nan")}}]), {}, "tool_schema_invalid"),
        (McpStub(tools=[ECHO | {"inputSchema": {"d": "\0"}}]), {}, "tool_schema_invalid"),
        (McpStub(tools=[ECHO | {"inputSchema": {"\ud800": 1}}]), {}, "tool_schema_invalid"),
        (McpStub(tools=[ECHO | {"inputSchema": json.loads('{"a":' * 40 + "1" + "}" * 40)}]), {}, "tool_schema_invalid"),
        (McpStub(in_method("tools/list", Faults(result=listing(*LARGE)))), {}, "too_many_tools"),
        (McpStub(in_method("initialize", Faults(body=b"x" * (2 << 20)))), {}, "tool_server_unreachable"),
        (McpStub(in_method("tools/list", Faults(error={"message": "\0\ud800"}))), {}, "tool_server_unusable"),
        (McpStub(tools=[ECHO | {"name": f"t{i}"} for i in range(3)]), {"include": frozenset({"u"})}, "unknown_tool"),
        (McpStub(in_method("tools/list", Faults(result=listing(*[ECHO] * 200)))), {}, "too_many_tools"),
        (McpStub(), {"guard": Guard()}, "tool_server_refused"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_used_is_refused_at_creation(
    network: NetworkLoop, stub: McpStub, options: dict[str, Any], code: str
) -> None:
    with stub, pytest.raises(InvalidInput) as refused:
        connect(stub, network, **options)
    assert refused.value.code == code and refused.value.hint and "docs" in refused.value.message
    assert refused.value.message.encode().isascii() and "\0" not in refused.value.message


def test_a_changed_list_of_tools_is_refused(network: NetworkLoop) -> None:
    with McpStub() as stub:
        before = connect(stub, network)
        before.close()
        stub.tools = [ECHO, SEARCH]
        server = connect(stub, network, expected=before.schemas)
        assert server.schemas == before.schemas, "in the order of creation, whatever the server's"
        server.close()
        stub.tools = [ECHO, SEARCH | {"description": "Other."}, ECHO | {"name": "more"}]
        with pytest.raises(InvalidInput, match="more is new, search has another schema") as refused:
            connect(stub, network, expected=before.schemas)
    assert refused.value.code == "tool_list_changed"


def test_only_included_tools_are_offered(network: NetworkLoop) -> None:
    with McpStub(tools=[SEARCH, ECHO | {"name": "a.b"}]) as stub:
        server = connect(stub, network, include=frozenset({"search"}))
        assert [schema.name for schema in server.schemas] == ["search"]
        server.close()


def test_a_slow_list_ends_in_time(network: NetworkLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "LISTING_SECONDS", 0.3)
    with McpStub(in_method("tools/list", Faults(hang=True))) as stub, pytest.raises(InvalidInput) as refused:
        connect(stub, network)
    assert refused.value.code == "tool_server_unreachable" and "within 0.3 s" in refused.value.message


def test_a_turn_does_not_wait_for_every_call_of_a_server_that_hangs(network: NetworkLoop) -> None:
    with McpStub(in_calls(Faults(hang=True))) as stub:
        server = connect(stub, network, concurrency=2)
        server._address = replace(server._address, timeout_seconds=0.3)
        statuses = [result.status for result in server.call([search(n) for n in range(100)])]
        # Both places may begin another call before the fourth has ended.
        assert 4 <= statuses.count("timeout") <= 6
        assert statuses.count("timeout") + statuses.count("unreachable") == 100
        server.close()


def test_requests_are_signed(network: NetworkLoop) -> None:
    bodies: list[tuple[dict[str, str], bytes]] = []
    with McpStub(bodies=bodies) as stub:
        server = connect(stub, network, secret="key")
        assert one(server).status == "ok"
        server.close()
    assert len(bodies) == 5
    assert all(verify("key", headers, body) for headers, body in bodies)
    assert len({headers["webhook-id"] for headers, _ in bodies}) == len(bodies)


def test_a_recorded_result_is_not_called_for_again(network: NetworkLoop, tmp_path: Path) -> None:
    """The next attempt of a job repeats its calls; those that were not answered it makes."""

    def script(stub: McpStub, message: dict[str, Any]) -> Faults | None:
        return Faults(status=500) if message.get("params", {}).get("arguments") == {"query": "down"} else None

    def attempt(stub: McpStub) -> list[tuple[str, str]]:
        recorded = RecordedCalls(tmp_path / "calls.sqlite")
        server = connect(stub, network, recorded=recorded)
        again = replace(search(0), history=(past_call(search(0), ToolResult("ok", "", None, 0)),))
        results = server.call([search(0), search(1), again, search(0, "down"), search(0, "other")])
        server.close()
        network.wait(close(recorded))
        return [(result.status, result.text) for result in results]

    async def close(recorded: RecordedCalls) -> None:
        recorded.close()

    with McpStub(script) as stub:
        first = attempt(stub)
        assert [status for status, _ in first] == ["ok", "ok", "ok", "unreachable", "ok"]
        assert len(stub.calls()) == 5
        assert attempt(stub) == first
        assert [call["params"]["arguments"]["query"] for call in stub.calls()[5:]] == ["down"]


def test_the_record_keeps_the_newest_calls(tmp_path: Path) -> None:
    recorded = RecordedCalls(tmp_path / "calls.sqlite", most=16)
    for rollout in range(40):
        recorded.put("u", search(rollout), "ok", str(rollout))
    newest = [rollout for rollout in range(40) if recorded.get("u", search(rollout)) is not None]
    assert newest == list(range(24, 40))
    recorded.close()

"""OpenEnv servers: a session per rollout; each fault is one status, or an error at creation."""

import json
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.environment_spec import OpenEnvSource
from reinforge.errors import JobFailure
from reinforge.net.outbound import Guard
from reinforge.net.webhook_signature import verify
from tests.support.openenv_stub import ACTION, ADD, CALL_ACTION, Fault, OpenEnvStub, observation
from tests.worker.rewards.test_judge_addresses import NAME, answering, self_signed
from worker.environment.tools import openenv
from worker.environment.tools.base import ToolEnd, ToolRequest, ToolResult, ToolStart
from worker.environment.tools.openenv import OpenEnvServer
from worker.environment.tools.openenv_session import OpenEnvSession, SessionAddress
from worker.environment.tools.server import FAILED_TURNS, ToolServerError, address_of
from worker.rewards.network import NetworkLoop, RequestFailed

LOOPBACK = Guard.allowing("127.0.0.0/8")
SEED = 17
TEXT = "Guess a number below 10."


@pytest.fixture(scope="module")
def network() -> Iterator[NetworkLoop]:
    network = NetworkLoop()
    yield network
    network.close()


def connect(
    stub: OpenEnvStub, network: NetworkLoop, secret: str | None = None, **fields: Any
) -> OpenEnvServer:
    guard = fields.pop("guard", LOOPBACK)
    source = OpenEnvSource.model_validate({"url": stub.url, "timeout_seconds": 10.0, **fields})
    return OpenEnvServer(address_of(0, source, secret), network, guard, source)


def step(sample: int = 0, number: int = 3, seed: int = SEED, name: str = "step") -> ToolRequest:
    return ToolRequest(sample, {"level": 2}, 0, name, {"number": number}, "{}", (), seed, sample)


def begin(server: OpenEnvServer, seed: int = SEED) -> ToolResult:
    return server.start([ToolStart(0, {"level": 2}, seed)])[0]


def ends(*samples: int) -> list[ToolEnd]:
    return [ToolEnd(number, {}, (), SEED, sample) for number, sample in enumerate(samples)]


def wait_for_sessions(stub: OpenEnvStub, count: int) -> None:
    deadline = time.monotonic() + 5
    while stub.open_sessions != count and time.monotonic() < deadline:
        time.sleep(0.01)
    assert stub.open_sessions == count


def test_each_rollout_has_an_environment_that_begins_like_the_prompts(network: NetworkLoop) -> None:
    with OpenEnvStub() as stub:
        server = connect(stub, network, columns=["level"], headers={"authorization": "Bearer key"})
        (tool,) = server.schemas
        assert (tool.name, tool.function.description) == ("step", "Guess the number.")
        assert tool.function.parameters["properties"] == {"number": ACTION["properties"]["number"]}  # type: ignore[index]
        stub.messages.clear()
        stub.handshakes.clear()
        assert (begin(server).text, begin(server).state) == (TEXT, "{}")
        results = server.call([step(0), step(1, 7)])
        assert [(result.status, result.text, result.reward, result.ended) for result in results] == [
            ("ok", "Wrong.", -0.5, False), ("ok", "Right!", 1.0, True),
        ]  # fmt: skip
        results = server.call([step(0, 7), step(1, 7)])
        assert [(result.status, result.reward, result.ended) for result in results] == [
            ("ok", 1.0, True), ("too_many", None, True),
        ]  # fmt: skip
        assert stub.sent("reset")[1:] == [
            {"level": 2, "seed": SEED, "episode_id": f"{SEED}-{sample}"} for sample in (0, 1)
        ]
        assert [headers["x-reinforge-rollout"] for headers in stub.handshakes][1:] == [
            f"{SEED}-0",
            f"{SEED}-1",
        ]
        assert {headers["authorization"] for headers in stub.handshakes} == {"Bearer key"}
        assert [reward.value for reward in server.reward(ends(0, 1, 2), 0)] == [0.5, 1.0, 0.0]
        wait_for_sessions(stub, 2)
        server.release(ends(0, 1, 2))
        wait_for_sessions(stub, 0)
        server.close()


def test_requests_are_signed(network: NetworkLoop) -> None:
    secret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    with OpenEnvStub() as stub:
        server = connect(stub, network, secret)
        begin(server)
        server.close()
        assert len(stub.handshakes) == 4
        assert all(verify(secret, headers, b"") for headers in stub.handshakes)


def test_an_environment_with_tools_offers_these(network: NetworkLoop) -> None:
    with OpenEnvStub(action=CALL_ACTION, tools=[ADD, ADD | {"name": "rm"}]) as stub:
        server = connect(stub, network, include=["add"])
        assert [schema.name for schema in server.schemas] == ["add"]
        (result,) = server.call([step(name="add")])
        assert (result.status, result.text, result.reward) == ("ok", '{"number": 3}', None)
        assert stub.sent("step")[-1] == {"type": "call_tool", "tool_name": "add", "arguments": {"number": 3}}
        server.close()


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        (
            {"error": {"error_type": "invalid_args", "message": "a is missing"}},
            "bad_arguments",
            "a is missing",
        ),
        ({"error": {"error_type": "tool_not_found", "message": "no add"}}, "unknown_tool", "no add"),
        ({"error": {"error_type": "timeout", "message": "slow"}}, "timeout", "slow"),
        ({"error": {"error_type": ["odd"]}}, "exception", "add failed without a message."),
        ({"result": {"content": [{"type": "text", "text": "no"}], "is_error": True}}, "exception", "no"),
        ({"result": "plain"}, "ok", "plain"),
        ({"result": [1, None]}, "ok", "[1, null]"),
        ({}, "ok", "null"),
    ],
)
def test_results_of_an_environments_tools(
    network: NetworkLoop, fields: dict[str, Any], status: str, text: str
) -> None:
    def script(stub: OpenEnvStub, message: dict[str, Any]) -> Fault | None:
        return Fault(observation(fields)) if message["data"].get("type") == "call_tool" else None

    with OpenEnvStub(script, action=CALL_ACTION) as stub:
        server = connect(stub, network)
        (result,) = server.call([step(name="add")])
        assert (result.status, result.text) == (status, text)
        server.close()


def error(code: str, **fields: Any) -> dict[str, Any]:
    return {"type": "error", "data": {"code": code, "message": "it failed", **fields}}


ERRORS = [{"loc": ["number"], "msg": "too large"}, 3]


@pytest.mark.parametrize(
    ("fault", "status", "text", "lost"),
    [
        (Fault(hang=True), "timeout", "no whole answer within 0.5 s", True),
        (Fault(close=True), "unreachable", "the session ended", True),
        (Fault("x" * (2 << 20)), "unreachable", "more than 1 MiB", True),
        (Fault("{" * 100_000), "unreachable", "is not a JSON object", True),
        (Fault(b"\xff"), "unreachable", "is not a JSON object", True),
        (Fault([1]), "unreachable", "is not a JSON object", True),
        (Fault({"type": "state", "data": {}}), "unreachable", "is not an observation", True),
        (Fault({"type": "observation", "data": {"reward": 1}}), "unreachable", "is not an observation", True),
        (Fault('{"type": "observation", "data": {"observation": {}, "reward": NaN}}'), "unreachable",
         "is not a JSON object", True),
        (Fault(observation({}, "high")), "unreachable", "not a finite number", True),
        (Fault(observation({}, 10**400)), "unreachable", "not a finite number", True),
        (Fault(observation({}, 1, "yes")), "unreachable", "not a finite number", True),
        (Fault(error("VALIDATION_ERROR", errors=ERRORS)), "bad_arguments", "it failed; number: too large", False),
        (Fault(error("EXECUTION_ERROR")), "exception", "step: it failed", False),
        (Fault(error("SESSION_ERROR")), "unreachable", "step: it failed", True),
        (Fault({"type": "error", "data": {}}), "unreachable", "no message", True),
        (Fault(observation({"a": 1, "b": "é\0\ud800"})), "ok", '{"a": 1, "b": "é\\u0000?"}', False),
        (Fault(observation({"hint": "a\0b\ud800"})), "ok", "a b?", False),
        (Fault(observation({"metadata": {"secret": 1}}, True)), "ok", "", False),
        (Fault(observation({"hint": "x" * 100_000})), "ok", "characters left out", False),
    ],
)  # fmt: skip
def test_each_fault_of_a_step_is_one_status(
    network: NetworkLoop, fault: Fault, status: str, text: str, lost: bool
) -> None:
    def script(stub: OpenEnvStub, message: dict[str, Any]) -> Fault | None:
        return fault if message["type"] == "step" and len(stub.sent("step")) == 1 else None

    with OpenEnvStub(script) as stub:
        server = connect(stub, network, timeout_seconds=0.5 if fault.hang else 10.0)
        begin(server)
        (result,) = server.call([step()])
        assert result.status == status and text in result.text
        json.dumps(result.text, ensure_ascii=False).encode()
        # A lost environment is not begun again in the middle of an episode; others are well.
        after, other = server.call([step(), step(1)])
        assert after.status == ("unreachable" if lost else "ok")
        assert (other.status, other.reward) == ("ok", -0.5)
        server.close()


def test_an_environment_that_begins_otherwise_drops_the_rollout(network: NetworkLoop) -> None:
    def script(stub: OpenEnvStub, message: dict[str, Any]) -> Fault | None:
        if message["type"] != "reset" or message["data"]["episode_id"] != f"{SEED}-1":
            return None
        return Fault(observation({"hint": "Another game."}))

    with OpenEnvStub(script) as stub:
        server = connect(stub, network)
        begin(server)
        results = server.call([step(0), step(1)])
        assert [(result.status, result.finding) for result in results] == [
            ("ok", None), ("exception", "tool_not_deterministic"),
        ]  # fmt: skip
        server.close()


def test_a_reset_that_fails_is_one_status(network: NetworkLoop) -> None:
    def script(stub: OpenEnvStub, message: dict[str, Any]) -> Fault | None:
        return Fault(error("EXECUTION_ERROR")) if message["data"].get("seed") == 5 else None

    with OpenEnvStub(script) as stub:
        server = connect(stub, network)
        results = server.start([ToolStart(0, {}, 5), ToolStart(1, {}, 6)])
        assert [(result.status, result.text) for result in results] == [
            ("exception", "reset: it failed"), ("ok", TEXT),
        ]  # fmt: skip
        wait_for_sessions(stub, 1)
        server.close()


def test_a_row_without_a_column_that_reset_reads_is_one_status(network: NetworkLoop) -> None:
    with OpenEnvStub() as stub:
        server = connect(stub, network, columns=["level"])
        results = server.start([ToolStart(0, {}, 5), ToolStart(1, {"level": None}, 6)])
        assert [(result.status, result.text) for result in results] == [
            ("exception", "reset: the row has no column level"), ("ok", TEXT),
        ]  # fmt: skip
        assert stub.sent("reset")[-1]["level"] is None
        server.close()


def test_sessions_of_an_interrupted_step_end_with_the_next(network: NetworkLoop) -> None:
    with OpenEnvStub() as stub:
        server = connect(stub, network)
        server.start([ToolStart(n, {}, n) for n in range(4)])
        wait_for_sessions(stub, 4)
        begin(server)
        wait_for_sessions(stub, 1)
        server.close()
        wait_for_sessions(stub, 0)


def test_a_server_that_answers_nothing_pauses_the_job(
    network: NetworkLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.environment.tools.server.SILENT_SECONDS", 0.0)
    with OpenEnvStub() as stub:
        server = connect(stub, network)
        stub.status = 503
        assert begin(server).status == "unreachable"
        with pytest.raises(JobFailure) as caught:
            for turn in range(FAILED_TURNS):
                server.call([step(turn)])
        assert caught.value.code == "tool_server_unavailable" and caught.value.retryable
        server.close()


def test_an_episode_that_is_over_when_it_begins_ends_the_rollout(network: NetworkLoop) -> None:
    def script(stub: OpenEnvStub, message: dict[str, Any]) -> Fault | None:
        return Fault(observation({"hint": "over"}, None, True)) if message["type"] == "reset" else None

    with OpenEnvStub(script) as stub:
        server = connect(stub, network)
        begin(server)
        results = server.call([step(0), step(1)])
        assert [(result.status, result.ended) for result in results] == [("too_many", True)] * 2
        assert not stub.sent("step")
        server.close()


def test_rollouts_that_lost_their_environments_pause_no_job(network: NetworkLoop) -> None:
    with OpenEnvStub(lambda stub, message: Fault(close=True) if message["type"] == "step" else None) as stub:
        server = connect(stub, network)
        begin(server)
        assert {server.call([step()])[0].status for _ in range(FAILED_TURNS + 1)} == {"unreachable"}
        assert len(stub.sent("step")) == 1
        server.close()


def test_rewards_that_are_too_large_together_are_no_reward(network: NetworkLoop) -> None:
    def script(stub: OpenEnvStub, message: dict[str, Any]) -> Fault | None:
        return Fault(observation({}, 1e308)) if message["type"] == "step" else None

    with OpenEnvStub(script) as stub:
        server = connect(stub, network)
        for _ in range(2):
            server.call([step()])
        (reward,) = server.reward(ends(0), 0)
        assert (reward.status, reward.value) == ("exception", None)
        server.close()


def unseeded(stub: OpenEnvStub, message: dict[str, Any]) -> Fault | None:
    return Fault(observation({"hint": f"game {len(stub.messages)}"})) if message["type"] == "reset" else None


def in_reset(fault: Fault) -> Any:
    return lambda stub, message: fault if message["type"] == "reset" else None


@pytest.mark.parametrize(
    ("stub", "code", "text"),
    [
        (OpenEnvStub(schema=404), "tool_server_unreachable", "the server answers 404"),
        (OpenEnvStub(schema=302), "tool_server_unreachable", "redirects are not followed"),
        (OpenEnvStub(schema=b"<html>"), "tool_server_unusable", "to /schema has no action"),
        (OpenEnvStub(schema=b"[]"), "tool_server_unusable", "to /schema has no action"),
        (OpenEnvStub(schema=b"x" * (2 << 20)), "tool_server_unreachable", "more than 1 MiB"),
        (OpenEnvStub(action={"type": "string"}), "tool_schema_invalid", "its action is not a JSON object"),
        (OpenEnvStub(action=ACTION | {"x": "y" * 40_000}), "tool_schema_invalid", "at most 32 KiB"),
        (OpenEnvStub(status=404), "tool_server_unreachable", "answers 404 to a WebSocket"),
        (OpenEnvStub(status=307), "tool_server_unreachable", "redirects are not followed"),
        (OpenEnvStub(most_sessions=1), "tool_server_unusable", "CAPACITY_REACHED"),
        (OpenEnvStub(unseeded), "environment_not_seeded", "different observations"),
        (OpenEnvStub(in_reset(Fault(error("EXECUTION_ERROR")))), "tool_server_unusable", "EXECUTION_ERROR"),
        (OpenEnvStub(in_reset(Fault([]))), "tool_server_unusable", "is not a JSON object"),
        (OpenEnvStub(in_reset(Fault(hang=True))), "tool_server_unreachable", "within 0.5 s"),
        (OpenEnvStub(action=CALL_ACTION, tools=[]), "no_tools", "offers no tools"),
        (OpenEnvStub(action=CALL_ACTION, tools=[ADD, ADD]), "tool_name_twice", "lists a tool twice"),
        (OpenEnvStub(action=CALL_ACTION, tools=[ADD | {"name": "a b"}]), "tool_name_invalid", "a b"),
        (OpenEnvStub(action=CALL_ACTION, tools=[{}]), "tool_server_unusable", "a tool has no name"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_used_is_refused(
    network: NetworkLoop, stub: OpenEnvStub, code: str, text: str
) -> None:
    with stub, pytest.raises(ToolServerError) as caught:
        connect(stub, network, timeout_seconds=0.5)
    assert caught.value.code == code and text in caught.value.message
    wait_for_sessions(stub, 0)


def test_another_action_than_at_creation_is_refused(network: NetworkLoop) -> None:
    with OpenEnvStub() as stub:
        server = connect(stub, network)
        tools = list(server.schemas)
        server.close()
        connect(stub, network, tools=tools).close()
        stub.action = ACTION | {"description": "Guess another number."}
        with pytest.raises(ToolServerError) as caught:
            connect(stub, network, tools=tools)
    assert caught.value.code == "tool_list_changed" and "step has another schema" in caught.value.message


def test_a_server_that_takes_too_long_is_refused(
    network: NetworkLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openenv, "LISTING_SECONDS", 0.3)
    with OpenEnvStub(in_reset(Fault(hang=True))) as stub, pytest.raises(ToolServerError) as caught:
        connect(stub, network)
    assert caught.value.code == "tool_server_unreachable" and "within 0.3 s" in caught.value.message


def test_an_address_inside_a_network_is_refused(network: NetworkLoop) -> None:
    with OpenEnvStub() as stub:
        with pytest.raises(ToolServerError) as caught:
            connect(stub, network, guard=Guard())
        assert caught.value.code == "tool_server_refused" and not stub.handshakes
        server = connect(stub, network, guard=None)
        server._sessions = SessionAddress(server._sessions.url, Guard())
        assert begin(server).status == "refused_address"
        server.close()


def named(stub: OpenEnvStub, scheme: str = "http") -> str:
    return f"{scheme}://{NAME}{stub.url[len('http://127.0.0.1') :]}"


def test_a_session_is_opened_at_the_checked_address_only(network: NetworkLoop) -> None:
    with OpenEnvStub() as stub:
        # The schema and two sessions while the job is created; then the name server answers differently.
        guard = answering(*[["127.0.0.9", "127.0.0.1"]] * 3, ["10.0.0.1"], allow="127.0.0.0/8")
        server = connect(stub, network, url=named(stub), guard=guard)
        assert [headers["host"].partition(":")[0] for headers in stub.handshakes] == [NAME] * 3
        assert begin(server).status == "refused_address"
        assert len(stub.handshakes) == 3
        server.close()


@pytest.mark.parametrize("certified", [NAME, "other.example"])
def test_the_certificate_has_to_be_the_names(
    network: NetworkLoop, certified: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed(certified, tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with OpenEnvStub(tls=context) as stub:
        guard = answering(["127.0.0.1"], allow="127.0.0.1")
        address = SessionAddress(f"{named(stub, 'https')}/ws", guard)
        opening = OpenEnvSession.open(address, {}, seconds=5)
        if certified == NAME:
            network.wait(opened_and_closed(opening))
        else:
            with pytest.raises(RequestFailed) as caught:
                network.wait(opening)
            assert caught.value.kind == "unreachable" and "certificate" in caught.value.message
        assert len(stub.handshakes) == (certified == NAME)


async def opened_and_closed(opening: Any) -> None:
    await (await opening).close()

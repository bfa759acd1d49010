"""Environments of an OpenEnv server: a session per rollout, over a WebSocket."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any

from reinforge.environment_spec import OpenEnvSource
from reinforge.net.outbound import Guard
from reinforge.net.webhook_signature import signed_headers
from reinforge.tools import CallStatus, ToolSchema
from worker.environment.tools.base import Finding, ToolEnd, ToolRequest, ToolResult, ToolReward, ToolStart
from worker.environment.tools.jailed import FIRST_STATE
from worker.environment.tools.mcp import LISTING_SECONDS, text_of
from worker.environment.tools.offers import (
    as_expected,
    check_size,
    complete,
    not_reached,
    offer,
    server_error,
)
from worker.environment.tools.openenv_session import (
    EnvironmentObservation,
    OpenEnvError,
    OpenEnvMalformed,
    OpenEnvSession,
    SessionAddress,
    endpoint,
    json_object,
    malformed,
)
from worker.environment.tools.server import (
    ServerAddress,
    ServerCalls,
    ToolServerError,
    readable,
    rollout_headers,
)
from worker.rewards.network import Exchange, NetworkLoop, RequestFailed, ServerClient

_PROBE_SEED = 1
_HINT = "Check its address: it must be that of an OpenEnv server, without /ws."
_ERRORS: Mapping[str, CallStatus] = {"VALIDATION_ERROR": "bad_arguments", "EXECUTION_ERROR": "exception"}
"""Statuses of calls by the protocol's error code; any other code means that the session is lost."""
_TOOL_ERRORS: Mapping[str, CallStatus] = {
    "invalid_args": "bad_arguments",
    "tool_not_found": "unknown_tool",
    "timeout": "timeout",
}

RolloutKey = tuple[int, int]
"""Seed and sample number of a rollout."""


@dataclass(slots=True)
class _Episode:
    """session: None once it is lost. last_reward: of the last step. differs: whether `reset` returned a different
    observation than it did for the prompt.
    """

    session: OpenEnvSession | None
    done: bool = False
    rewards: list[float] = field(default_factory=list)
    last_reward: float | None = None
    differs: bool = False


class OpenEnvServer:
    """Environments of one server. If their action is a tool call, they list their tools; else the action from
    `/schema` is the only tool.

    `start` resets one environment per prompt; all rollouts of the prompt read its observation. Each rollout
    has its own environment, with the prompt's seed. source: has the tools at the job's creation. guard: None
    under `reinforge train`. Raises ToolServerError.
    """

    starts = scores = True

    def __init__(
        self,
        address: ServerAddress,
        network: NetworkLoop,
        guard: Guard | None,
        source: OpenEnvSource,
    ) -> None:
        self._address, self._network, self._source = address, network, source
        self._calls = ServerCalls(address, network)
        self._schema_client = ServerClient(endpoint(address.url, "schema"), guard, proxied=False)
        self._sessions = SessionAddress(endpoint(address.url, "ws"), guard)
        self._own_tools = False
        self._episodes: dict[RolloutKey, _Episode] = {}
        self._first_texts: dict[int, str] = {}
        """Texts that `reset` returned for the current prompts, by seed."""
        try:
            self.schemas = as_expected(address, source.tools, network.wait(self._connect()))
        except BaseException:
            self.close()
            raise

    def start(self, rollouts: Sequence[ToolStart]) -> list[ToolResult]:
        self._network.wait(self._release(list(self._episodes)))  # of a step that was interrupted
        self._first_texts.clear()
        requests = [
            ToolRequest(start.rollout, start.item, 0, "reset", {}, FIRST_STATE, (), start.seed)
            for start in rollouts
        ]
        return self._calls.run(requests, self._start)

    def call(self, requests: Sequence[ToolRequest]) -> list[ToolResult]:
        results = {
            number: over for number, one in enumerate(requests) if (over := self._is_over(one)) is not None
        }
        running = [number for number in range(len(requests)) if number not in results]
        answers = self._calls.run([requests[number] for number in running], self._step) if running else []
        for number, result in zip(running, answers, strict=True):
            results[number] = self._with_outcome(result, self._episodes.get(_key(requests[number])))
        return [results[number] for number in range(len(requests))]

    def _is_over(self, request: ToolRequest) -> ToolResult | None:
        """Result of a call that is not sent, since the rollout's environment is done or lost."""
        episode = self._episodes.get(_key(request))
        if episode is None or (episode.session is not None and not episode.done):
            return None
        if episode.done:
            text = f"{request.name}: the episode is over"
            return ToolResult("too_many", text, request.state, 0.0, ended=True)
        text = f"{request.name}: the environment was lost with a call before"
        return ToolResult("unreachable", text, request.state, 0.0)

    def reward(self, rollouts: Sequence[ToolEnd], source: int) -> list[ToolReward]:
        return [_score(self._episodes.get(_key(end))) for end in rollouts]

    def release(self, rollouts: Sequence[ToolEnd]) -> None:
        self._network.wait(self._release([_key(end) for end in rollouts]))

    def close(self) -> None:
        self._network.wait(self._release(list(self._episodes)))
        self._network.wait(self._schema_client.aclose())

    # ── At the job's creation, and at the start of each attempt ───────────────────────────────────────────

    async def _connect(self) -> tuple[ToolSchema, ...]:
        try:
            async with asyncio.timeout(LISTING_SECONDS):
                action = await self._action_schema()
                self._own_tools = _calls_tools(action)
                tools = await self._probe()
        except TimeoutError as error:
            message = f"it did not list its tools and reset an environment twice within {LISTING_SECONDS:g} s"
            raise self._error(
                message, "tool_server_unreachable", "Check that the server runs and answers at its address."
            ) from error
        except RequestFailed as error:
            raise not_reached(self._address, error, hint=_HINT) from error
        except OpenEnvMalformed as error:
            raise self._error(str(error), "tool_server_unusable", _HINT) from error
        except OpenEnvError as error:
            message = f"it answers with error {error.code}: {error.message}"
            hint = "Read the server's own log."
            if error.code == "CAPACITY_REACHED":
                hint = "Raise its max_concurrent_envs: a step needs a session for each of its rollouts."
            raise self._error(message, "tool_server_unusable", hint) from error
        schemas = tools if self._own_tools else [self._action(action)]
        check_size(self._address, schemas)
        return complete(self._address, schemas)

    async def _action_schema(self) -> dict[str, Any]:
        headers = {**self._address.headers, **self._signature()}
        reply = await self._schema_client.send(
            Exchange(b"", headers, method="GET"), seconds=self._address.timeout_seconds
        )
        schema = json_object(reply.content)
        action = schema.get("action") if schema is not None else None
        if not isinstance(action, dict):
            raise malformed("to /schema has no action", reply.content)
        return action

    async def _probe(self) -> list[ToolSchema]:
        """The environment's own tools, if any. Checks that two concurrent sessions begin with
        equal observations.
        """
        texts, tools, sessions = [], list[ToolSchema](), list[OpenEnvSession]()
        try:
            for number in range(2):
                session = await OpenEnvSession.open(self._sessions, self._headers(), seconds=self._seconds)
                sessions.append(session)
                data = {"seed": _PROBE_SEED, "episode_id": f"probe-{number}"}
                texts.append(_text(await session.reset(data, seconds=self._seconds)))
            if self._own_tools:
                listing = await sessions[0].step({"type": "list_tools"}, seconds=self._seconds)
                tools = self._offered(listing)
        finally:
            await asyncio.gather(*(session.close() for session in sessions))
        if texts[0] != texts[1]:
            raise self._error(
                "two resets with the same seed returned different observations",
                "environment_not_seeded",
                "Completions of a prompt begin alike: `reset` must draw all random numbers from its seed.",
            )
        return tools

    def _offered(self, listing: EnvironmentObservation) -> list[ToolSchema]:
        tools = listing.fields.get("tools")
        if not isinstance(tools, list):
            raise OpenEnvMalformed("the `tools` in the server's answer to list_tools are not a list")
        schemas = []
        for tool in tools:
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(name, str):
                raise OpenEnvMalformed("a tool has no name")
            if not self._address.include or name in self._address.include:
                schemas.append(offer(self._address, name, tool.get("description"), tool.get("input_schema")))
        return schemas

    def _action(self, schema: Mapping[str, Any]) -> ToolSchema:
        """The environment's action as a tool, without `metadata`, which the policy does not set."""
        properties = schema.get("properties")
        if schema.get("type") != "object" or not isinstance(properties, dict):
            raise self._error(
                "its action is not a JSON object", "tool_schema_invalid", "Declare the action's fields."
            )
        own = {name: value for name, value in properties.items() if name != "metadata"}
        parameters = {**schema, "properties": own}
        description = parameters.pop("description", None) or "Act in the environment."
        return offer(self._address, self._source.action, description, parameters)

    # ── Rollouts ──────────────────────────────────────────────────────────────────────────────────────────

    async def _start(self, request: ToolRequest) -> tuple[CallStatus, str]:
        return await self._answer(request, self._begin)

    async def _step(self, request: ToolRequest) -> tuple[CallStatus, str]:
        return await self._answer(request, self._act)

    async def _answer(
        self, request: ToolRequest, work: Callable[[ToolRequest], Awaitable[tuple[CallStatus, str]]]
    ) -> tuple[CallStatus, str]:
        try:
            status, text = await work(request)
        except OpenEnvError as error:
            status = _ERRORS.get(error.code, "unreachable")
            text = f"{request.name}: {error.message}"
        except OpenEnvMalformed as error:
            status, text = "unreachable", f"{request.name}: {error}"
        except RequestFailed:
            await self._lose(_key(request))
            raise
        if status == "unreachable":
            await self._lose(_key(request))
        return status, text

    async def _begin(self, request: ToolRequest) -> tuple[CallStatus, str]:
        text = readable(await self._reset(request), self._address.most_characters)
        self._first_texts[request.seed] = text
        return "ok", text

    async def _act(self, request: ToolRequest) -> tuple[CallStatus, str]:
        key = _key(request)
        if key not in self._episodes:
            text = readable(await self._reset(request), self._address.most_characters)
            if text != self._first_texts.get(request.seed, text):
                self._episodes[key].differs = True
                return "exception", "reset: the same seed returned another observation than before"
        episode = self._episodes[key]
        episode.last_reward = None
        if episode.session is None or episode.done:
            return "too_many", f"{request.name}: the episode was over when it began"
        observation = await episode.session.step(self._payload(request), seconds=self._seconds)
        episode.done = observation.done
        if observation.reward is not None:
            episode.rewards.append(observation.reward)
            episode.last_reward = observation.reward
        return _tool_result(observation) if self._own_tools else ("ok", _text(observation))

    async def _reset(self, request: ToolRequest) -> str:
        if missing := [name for name in self._source.columns if name not in request.item]:
            raise OpenEnvError("EXECUTION_ERROR", f"the row has no column {missing[0]}")
        columns = {name: request.item[name] for name in self._source.columns}
        headers = self._headers(rollout_headers(self._address, request))
        session = await OpenEnvSession.open(self._sessions, headers, seconds=self._seconds)
        episode_id = f"{request.seed}-{request.sample_no}"
        try:
            data = {**columns, "seed": request.seed, "episode_id": episode_id}
            observation = await session.reset(data, seconds=self._seconds)
        except BaseException:
            await session.close()
            raise
        self._episodes[_key(request)] = _Episode(session, observation.done)
        return _text(observation)

    def _payload(self, request: ToolRequest) -> dict[str, Any]:
        if not self._own_tools:
            return request.arguments
        return {"type": "call_tool", "tool_name": request.name, "arguments": request.arguments}

    def _with_outcome(self, result: ToolResult, episode: _Episode | None) -> ToolResult:
        if episode is None:
            return result
        finding: Finding | None = "tool_not_deterministic" if episode.differs else None
        return replace(result, ended=episode.done, reward=episode.last_reward, finding=finding)

    async def _lose(self, key: RolloutKey) -> None:
        """End a session whose next answer could belong to an older request."""
        episode = self._episodes.get(key)
        if episode is not None and episode.session is not None:
            session, episode.session = episode.session, None
            await session.close()

    async def _release(self, keys: Sequence[RolloutKey]) -> None:
        episodes = [self._episodes.pop(key, None) for key in keys]
        sessions = [
            episode.session for episode in episodes if episode is not None and episode.session is not None
        ]
        await asyncio.gather(*(session.close() for session in sessions))

    @property
    def _seconds(self) -> float:
        return self._address.timeout_seconds

    def _headers(self, headers: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**(self._address.headers if headers is None else headers), **self._signature()}

    def _signature(self) -> dict[str, str]:
        secret = self._address.secret
        return signed_headers(secret, f"openenv_{token_hex(16)}", b"") if secret else {}

    def _error(self, message: str, code: str, hint: str) -> ToolServerError:
        return server_error(self._address, message, code, hint)


def _key(request: ToolRequest | ToolEnd) -> RolloutKey:
    return request.seed, request.sample_no


def _calls_tools(action: Mapping[str, Any]) -> bool:
    properties = action.get("properties")
    if not isinstance(properties, dict) or "tool_name" not in properties:
        return False
    kind = properties.get("type")
    return isinstance(kind, dict) and kind.get("const") == "call_tool"


def _text(observation: EnvironmentObservation) -> str:
    """Observation as text: a single string unchanged, other fields as JSON."""
    values = list(observation.fields.values())
    if not values:
        return ""
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(observation.fields, ensure_ascii=False)


def _tool_result(observation: EnvironmentObservation) -> tuple[CallStatus, str]:
    error, result = observation.fields.get("error"), observation.fields.get("result")
    if isinstance(error, dict):
        status = _TOOL_ERRORS.get(str(error.get("error_type")), "exception")
        return status, str(error.get("message") or "")
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        return ("exception" if result.get("is_error") is True else "ok"), text_of(result)
    return "ok", result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _score(episode: _Episode | None) -> ToolReward:
    total = sum(episode.rewards) if episode is not None else 0.0
    if not math.isfinite(total):
        return ToolReward("exception", None, 0.0, "the sum of the rewards is too large")
    return ToolReward("ok", total, 0.0)

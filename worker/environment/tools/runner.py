"""Routes the tool calls of a turn to the sources that provide the tools."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Protocol

from reinforge.errors import InvalidInput
from reinforge.tools import ToolSchema, unique_schemas
from worker.environment.tools.base import (
    ReplyRequest,
    ToolEnd,
    ToolRequest,
    ToolResult,
    ToolReward,
    ToolStart,
    past_call,
)
from worker.environment.tools.jailed import FIRST_STATE, SimulatedUser


class ToolProvider(Protocol):
    """Tools of one entry of `environment.sources`. `call` gets at most one request per rollout."""

    @property
    def schemas(self) -> tuple[ToolSchema, ...]: ...

    @property
    def starts(self) -> bool: ...

    @property
    def scores(self) -> bool: ...

    def start(self, rollouts: Sequence[ToolStart]) -> list[ToolResult]: ...

    def call(self, requests: Sequence[ToolRequest]) -> list[ToolResult]: ...

    def reward(self, rollouts: Sequence[ToolEnd], source: int) -> list[ToolReward]: ...

    def release(self, rollouts: Sequence[ToolEnd]) -> None: ...

    def close(self) -> None: ...


class Tools:
    """`ToolRunner` over several sources. Raises ToolSourceError `tool_name_twice`."""

    def __init__(self, sources: Mapping[str, ToolProvider], user: SimulatedUser | None = None) -> None:
        unique_schemas({name: source.schemas for name, source in sources.items()})
        self._sources = list(sources.values())
        self._user = user
        # Several turns may run at once, of conversations that do not wait for each other.
        self._threads = ThreadPoolExecutor(4 + 4 * len(self._sources), thread_name_prefix="tools")

    @property
    def schemas(self) -> tuple[tuple[ToolSchema, ...], ...]:
        return tuple(source.schemas for source in self._sources)

    def start(self, rollouts: Sequence[ToolStart]) -> list[ToolResult]:
        starting = [source for source in self._sources if source.starts]
        results = [ToolResult("ok", "", FIRST_STATE, 0.0) for _ in rollouts]
        for column in self._threads.map(lambda source: source.start(rollouts), starting):
            results = [_joined(one, other) for one, other in zip(results, column, strict=True)]
        return results

    def run(self, requests: Sequence[ToolRequest]) -> list[ToolResult]:
        by_rollout: dict[int, list[int]] = {}
        for index, request in enumerate(requests):
            by_rollout.setdefault(request.rollout, []).append(index)
        results: dict[int, ToolResult] = {}
        ready = {rollout: requests[indices[0]] for rollout, indices in by_rollout.items()}
        for wave in range(max(map(len, by_rollout.values()), default=0)):
            numbers = [indices[wave] for indices in by_rollout.values() if wave < len(indices)]
            current = [ready[requests[number].rollout] for number in numbers]
            for number, request, result in zip(numbers, current, self._wave(current), strict=True):
                results[number] = result
                indices = by_rollout[request.rollout]
                if wave + 1 < len(indices):
                    ready[request.rollout] = _continued(requests[indices[wave + 1]], request, result)
        return [results[index] for index in range(len(requests))]

    def reward(self, rollouts: Sequence[ToolEnd]) -> list[ToolReward]:
        scoring = [(index, source) for index, source in enumerate(self._sources) if source.scores]
        results = [ToolReward("ok", None, 0.0) for _ in rollouts]
        for column in self._threads.map(lambda pair: pair[1].reward(rollouts, pair[0]), scoring):
            results = [_summed(one, other) for one, other in zip(results, column, strict=True)]
        return results

    def release(self, rollouts: Sequence[ToolEnd]) -> None:
        list(self._threads.map(lambda source: source.release(rollouts), self._sources))

    def reply(self, requests: Sequence[ReplyRequest]) -> list[ToolResult]:
        if self._user is None:
            raise InvalidInput(
                "This environment has no simulated user: set `environment.reply`.", code="no_simulated_user"
            )
        return self._user.reply(requests)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for source in self._sources:
            source.close()

    def _wave(self, requests: Sequence[ToolRequest]) -> list[ToolResult]:
        by_source: dict[int, list[int]] = {}
        for index, request in enumerate(requests):
            by_source.setdefault(request.source, []).append(index)
        results: dict[int, ToolResult] = {}

        def call(source: int) -> list[ToolResult]:
            return self._sources[source].call([requests[index] for index in by_source[source]])

        for source, column in zip(by_source, self._threads.map(call, by_source), strict=True):
            results.update(zip(by_source[source], column, strict=True))
        return [results[index] for index in range(len(requests))]


def _continued(following: ToolRequest, request: ToolRequest, result: ToolResult) -> ToolRequest:
    return replace(following, state=result.state, history=(*request.history, past_call(request, result)))


def _joined(one: ToolResult, other: ToolResult) -> ToolResult:
    if one.status != "ok":
        return one
    text = "\n".join(filter(None, (one.text, other.text)))
    return replace(other, text=text, milliseconds=one.milliseconds + other.milliseconds)


def _summed(one: ToolReward, other: ToolReward) -> ToolReward:
    if one.status != "ok":
        return one
    values: list[Any] = [value for value in (one.value, other.value) if value is not None]
    value = sum(values) if values and other.status == "ok" else None
    return replace(other, value=value, milliseconds=one.milliseconds + other.milliseconds)

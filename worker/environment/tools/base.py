"""Protocol between the rollout loop and the tools that it runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from reinforge.tools import CallStatus, ToolSchema

MAX_RESULT_CHARACTERS = 16_384
"""Maximum number of characters of a result; the caller may lower it."""
MAX_STATE_BYTES = 64 << 10

Finding = Literal["tool_not_deterministic"]


@dataclass(frozen=True, slots=True)
class PastCall:
    """An earlier call of the same rollout. `text` is the result of `ToolRunner.run`, before it was shortened
    for the model.
    """

    source: int
    name: str
    arguments: dict[str, Any]
    status: CallStatus
    text: str


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One call that passed `check_arguments`.

    rollout: any number that identifies the rollout. item: the row of the dataset. source: index into
    `ToolRunner.schemas`. state: `ToolResult.state` of the rollout's last call or start. history: all earlier
    calls of the rollout, oldest first. seed: the same in all calls of all rollouts of a prompt; sample_no:
    the rollout's number among these.

    If one `run` gets several requests of a rollout, they are its calls in order. Each call after the first
    continues the state and history of the one before; its own `state` and `history` are ignored.
    """

    rollout: int
    item: Mapping[str, Any]
    source: int
    name: str
    arguments: dict[str, Any]
    state: Any
    history: tuple[PastCall, ...]
    seed: int
    sample_no: int = 0


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of one call.

    text: for the model; never empty after a failure. state: opaque JSON text for the next call. ended:
    `reply` returned None, or the environment is done. reward: of the environment's step. detail: traceback
    and prints, for the tool's author. finding: why the rollout has to be dropped.
    """

    status: CallStatus
    text: str
    state: Any
    milliseconds: float
    ended: bool = False
    reward: float | None = None
    detail: str | None = None
    finding: Finding | None = None


def past_call(request: ToolRequest, result: ToolResult) -> PastCall:
    return PastCall(request.source, request.name, request.arguments, result.status, result.text)


@dataclass(frozen=True, slots=True)
class ToolStart:
    rollout: int
    item: Mapping[str, Any]
    seed: int


@dataclass(frozen=True, slots=True)
class ToolEnd:
    """A rollout that is over: its environments may score it."""

    rollout: int
    item: Mapping[str, Any]
    history: tuple[PastCall, ...]
    seed: int
    sample_no: int = 0


@dataclass(frozen=True, slots=True)
class ToolReward:
    """Score of a rollout by its environments: `get_reward()`, or the sum of the step rewards. `value` is None
    if scoring failed or no environment scores.
    """

    status: CallStatus
    value: float | None
    milliseconds: float
    message: str | None = None
    finding: Finding | None = None


@dataclass(frozen=True, slots=True)
class ReplyRequest:
    """One turn of the simulated user: `reply(messages, item, state)`."""

    rollout: int
    item: Mapping[str, Any]
    messages: Sequence[Mapping[str, Any]]
    state: Any
    turn: int
    seed: int


@dataclass(frozen=True, slots=True)
class PythonSource:
    """Python source run in the sandbox. kind: its tools are public functions, or methods of an environment
    class as in TRL.
    """

    file: str
    source: str
    kind: Literal["functions", "class"] = "functions"
    isolate: Literal["batch", "sample"] = "batch"
    timeout_seconds: float = 2.0


class ToolRunner(Protocol):
    """Runs tools. Methods return one result per request, in the same order, also for failed calls. They raise
    retryable JobFailures: `sandbox_unavailable`, or `tool_server_unavailable` if a server stops answering.
    """

    @property
    def schemas(self) -> tuple[tuple[ToolSchema, ...], ...]:
        """Tools of each source; names are unique over all of them."""

    def start(self, rollouts: Sequence[ToolStart]) -> list[ToolResult]:
        """Begin rollouts. Results have the first state, and the texts of `reset` joined by newlines (may be
        empty).
        """

    def run(self, requests: Sequence[ToolRequest]) -> list[ToolResult]: ...

    def reward(self, rollouts: Sequence[ToolEnd]) -> list[ToolReward]: ...

    def release(self, rollouts: Sequence[ToolEnd]) -> None:
        """End the sessions of rollouts that are over."""

    def reply(self, requests: Sequence[ReplyRequest]) -> list[ToolResult]: ...

    def close(self) -> None: ...

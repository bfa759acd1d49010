"""Scorer protocol and its result types.

An error never becomes a value: `RewardResult.status` names it.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, Self

from reinforge.errors import JobFailure
from reinforge.grading.samples import tool_fields

FINE = frozenset({"ok", "not_applicable"})
STRANGERS = frozenset({"sandbox_error", "judge_error", "endpoint_error"})
"""Statuses of failures outside the reward itself, which are never scored as 0."""


@dataclass(frozen=True, slots=True)
class Scorable:
    completion: str
    item: dict[str, Any]
    prompt: list[dict[str, Any]]
    sample: Mapping[str, Any] = field(default_factory=dict)
    tools: list[dict[str, Any]] | None = None
    messages: Sequence[dict[str, Any]] = ()
    """Messages after the prompt, in an environment with turns."""

    @classmethod
    def of_row(
        cls,
        completion: str,
        item: dict[str, Any],
        prompt: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        messages: Sequence[dict[str, Any]] = (),
        *,
        raw: str | None = None,
        notation: str | None = None,
    ) -> Self:
        """Input of rewards for one completion. raw: the completion with special tokens. notation: the format
        of the model's tool calls.
        """
        fields = tool_fields(completion, tools, raw=raw, notation=notation) if tools else {}
        if messages:
            fields = fields | {"messages": [*prompt, *messages], "tool_calls": _called(messages)}
        return cls(completion, item, prompt, fields, tools, messages)


def _called(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool calls of a conversation in order, with their results and statuses."""
    results = {message["tool_call_id"]: message for message in messages if message["role"] == "tool"}
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return [
        {
            "id": call["id"],
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"],
            "result": results.get(call["id"], {}).get("content"),
            "status": results.get(call["id"], {}).get("status"),
        }
        for call in calls
    ]


@dataclass(frozen=True, slots=True)
class RewardResult:
    name: str
    status: str
    value: float | None
    parts: dict[str, float] = field(default_factory=dict)
    steps: list[tuple[float, int]] = field(default_factory=list)
    """(value, end character in the completion) of each step."""
    turns: list[tuple[float, int]] = field(default_factory=list)
    """(value, turn number) of each turn that the reward scored."""
    criteria: dict[str, float] = field(default_factory=dict)
    candidates: list[list[float]] = field(default_factory=list)
    reason: str | None = None
    prints: str = ""
    message: str | None = None
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    revision: str | None = None
    code: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    """Label by part of a multi grader; the part `""` is the reward itself."""
    part_status: dict[str, str] = field(default_factory=dict)
    usage: dict[str, dict[str, float]] = field(default_factory=dict)
    """For each judge: `prompt_tokens, completion_tokens, cached_tokens, cost, calls, cached_calls`."""

    @property
    def failed(self) -> bool:
        return self.status not in FINE

    def as_dict(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}


@dataclass(frozen=True, slots=True)
class Score:
    results: tuple[RewardResult, ...]
    error: str | None
    dropped: bool


@dataclass(frozen=True, slots=True)
class Group:
    key: int
    samples: Sequence[Scorable]


RESUME_HINT = (
    "Correct the reward, save it (`reinforge reward push FILE`), set the job's new revision "
    "(`reinforge job change-reward ID --revision N`) and resume (`reinforge job resume ID`). "
    "If the reward is not at fault, resume the job."
)


class RewardsFailed(JobFailure):
    """Failure of rewards that pauses the job. traceback: a failed result's message, often a traceback."""

    def __init__(
        self, message: str, *, traceback: str | None, hint: str | None = None, code: str = "reward_errors"
    ) -> None:
        super().__init__(message, code=code, hint=hint, retryable=True)
        self.traceback = traceback


class Scorer(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def weights(self) -> tuple[float, ...]: ...

    @property
    def revisions(self) -> dict[str, str]: ...

    def score(self, groups: AsyncIterable[Group]) -> AsyncGenerator[tuple[int, list[Score]], None]:
        """Yield (key, scores) of each group as it finishes. Raises JobFailure, always retryable."""

    def metrics(self) -> dict[str, float]:
        """Metrics. Counts are since the last call."""

    def state(self) -> dict[str, Any]: ...

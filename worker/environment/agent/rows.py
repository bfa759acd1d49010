"""Converts a rollout's model calls to training rows.

A row is a chain of calls, each of which continues the one before. Tokens that a row shares with an earlier
row belong to its prompt, so every sampled token is trained in one row only. All rows of a rollout have its
reward and its advantage. `share` weights them so that together they count as one row in statistics.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from worker.environment.agent.calls import BranchReason, CallFault, ModelCall
from worker.environment.base import Segment


@dataclass(frozen=True, slots=True)
class CapturedRow:
    rollout: str
    branch: int
    """Index of this row among the rollout's rows."""
    reason: BranchReason
    prompt_ids: tuple[int, ...]
    """Prompt of the row's first call."""
    completion: tuple[Segment, ...]
    """Turns of the policy, and between them the tool results or user messages."""
    calls: tuple[int, ...]
    """`ModelCall.no` of each call in the row."""
    share: float
    """Fraction of the rollout's policy tokens that are in this row; the shares of all its rows sum to 1."""

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(segment.token_ids for segment in self.completion))

    @property
    def action_mask(self) -> tuple[bool, ...]:
        """True for each completion token that is trained."""
        return tuple(segment.by == "policy" for segment in self.completion for _ in segment.token_ids)


@dataclass(frozen=True, slots=True)
class RolloutCapture:
    rows: tuple[CapturedRow, ...]
    dropped: tuple[tuple[int, CallFault], ...]
    """(number, fault) of each faulty call. Branches that contain or continue a faulty call become no row."""


def captured(rollout: str, calls: Sequence[ModelCall]) -> RolloutCapture:
    """Rows of the answers that the program received, in the order in which their branches began."""
    trained = {call.no for call in calls if call.received}
    branches: list[list[ModelCall]] = []
    branch_of: dict[int, list[ModelCall]] = {}
    for call in calls:
        if call.no not in trained:
            continue
        parent = call.parent
        first = None if parent is None else next(c for c in parent.children if c.no in trained)
        branch = branch_of[parent.no] if parent is not None and first is call else []
        if not branch:
            branches.append(branch)
        branch.append(call)
        branch_of[call.no] = branch
    sound = [branch for branch in branches if not _faulty(branch[-1])]
    dropped = tuple((call.no, call.fault) for call in calls if call.no in trained and call.fault is not None)
    sampled = [sum(_sampled(call) for call in branch) for branch in sound]
    rows = [
        _row(rollout, number, branch, tokens / sum(sampled))
        for number, (branch, tokens) in enumerate(zip(sound, sampled, strict=True))
    ]
    return RolloutCapture(tuple(rows), dropped)


def _faulty(call: ModelCall | None) -> bool:
    while call is not None:
        if call.fault is not None:
            return True
        call = call.parent
    return False


def _sampled(call: ModelCall) -> int:
    return len(call.answer.token_ids) if call.answer else 0


def _row(rollout: str, number: int, branch: Sequence[ModelCall], share: float) -> CapturedRow:
    segments: list[Segment] = []
    for turn, call in enumerate(branch):
        assert call.answer is not None and call.new_ids is not None
        if turn and call.new_ids:
            by: Literal["tool", "user"] = (
                "tool" if any(message["role"] == "tool" for message in call.new_messages) else "user"
            )
            segments.append(Segment(call.new_ids, by, turn=turn - 1))
        answer = call.answer
        segments.append(
            Segment(answer.token_ids, "policy", answer.sampler_logprobs, answer.sampler_entropies, turn)
        )
    numbers = tuple(call.no for call in branch)
    return CapturedRow(
        rollout, number, branch[0].reason, branch[0].prompt_ids, tuple(segments), numbers, share
    )

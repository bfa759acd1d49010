"""Protocol of environments, and the types of which a conversation consists."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, Protocol

from reinforge.records import CompletionEnd

Author = Literal["policy", "tool", "user", "template"]


@dataclass(frozen=True, slots=True)
class Prompt:
    row_index: int
    item: dict[str, Any]
    messages: list[dict[str, Any]]
    text: str
    token_ids: tuple[int, ...]
    prompt_hash: str
    """SHA-256 (hex) of messages and tools: equal prompts have equal hashes in all jobs."""
    tools: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of tokens by one author; only the policy's tokens are trained on."""

    token_ids: tuple[int, ...]
    by: Author
    sampler_logprobs: tuple[float, ...] = field(default=())
    """Log-probability of each policy token when it was sampled, under logits / temperature."""
    sampler_entropies: tuple[float, ...] | None = None
    """Entropy (nats) at each policy token; None if the engine reports none."""
    turn: int = 0
    """Number of the turn that it is part of, or that it answers."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str
    """JSON as the policy wrote it."""
    status: str
    """One of `reinforge.tools.statuses`."""
    result: str = ""
    """Text as the policy reads it."""
    cut: bool = False
    """Whether `result` is shortened to `max_result_tokens`."""
    milliseconds: float = 0.0
    reward: float | None = None
    """Reward that the environment returned for the call."""


@dataclass(frozen=True, slots=True)
class UserReply:
    """Reply of a simulated user to a turn without a tool call."""

    status: str
    """`ok`, or why it failed: one of `reinforge.tools.statuses`."""
    text: str = ""
    """Text as the policy reads it, or the error; "" if it ended the rollout."""
    ended: bool = False
    """Whether the user ended the rollout."""
    cut: bool = False
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PolicyTurn:
    """One turn of the policy; its tokens are `start` to `end` (exclusive) of the completion."""

    no: int
    start: int
    end: int
    text: str
    calls: tuple[ToolCall, ...] = ()
    reply: UserReply | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A rollout under way, after the policy's turn or after the environment's answer to it."""

    prompt: Prompt
    prompt_no: int
    sample_no: int
    seed: int
    """Seed of the environment's random numbers, the same for all rollouts of a prompt in a step."""
    segments: tuple[Segment, ...] = ()
    """The completion."""
    text: str = ""
    """Text of the policy's last turn."""
    turn_end: Literal["stop", "length"] = "stop"
    """How the policy's last turn ended."""
    turns: tuple[PolicyTurn, ...] = ()
    messages: tuple[dict[str, Any], ...] = ()
    """Messages after those of the prompt."""
    state: Any = None
    """State that the environment keeps for the rollout."""
    finish_reason: CompletionEnd | None = None
    """How the conversation ended; None: the policy continues."""
    failure: str | None = None
    """Status that drops the rollout from statistics and loss."""
    failure_message: str | None = None
    """Reason of `failure`, in words."""
    branches: int = 1
    """Number of conversations into which the rollout branched; this is one of them."""
    branch: int = 0
    """Its number among the rollout's branches."""
    branch_reason: str | None = None
    """Why this branch began (`worker.environment.agent.calls.BranchReason`)."""
    share: float = 1.0
    """Fraction of the rollout's trained tokens in this conversation."""
    others: tuple["Conversation", ...] = ()
    """The rollout's other conversations, where they are trained."""
    reward: float | None = None
    """Reward that the environment returned for the whole rollout."""
    first_state: Any = None
    """`state` before the first turn."""
    call_span: tuple[int, int] | None = None
    """Start and end of the first tool call among the completion's tokens, after its opening mark; None unless
    the algorithm reads it.
    """
    source: int | None = None
    """`sample_no` of the rollout whose beginning it continues."""

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(segment.token_ids for segment in self.segments))

    @property
    def policy_tokens(self) -> int:
        return sum(len(segment.token_ids) for segment in self.segments if segment.by == "policy")


def open_segment(conversation: Conversation) -> Segment | None:
    """The last segment, if it begins a turn that the policy has not ended."""
    last = conversation.segments[-1] if conversation.segments else None
    return last if last and last.by == "policy" and last.turn == len(conversation.turns) else None


class Environment(Protocol):
    max_turns: int
    """Most turns of a conversation. If 1, `answer` gets one group at a time; otherwise conversations of many.
    """

    async def begin(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """Prepare one conversation per prompt for its first turn: set its state and the prompt that the
        policy reads.
        """

    def room(self, conversation: Conversation) -> int | None:
        """Most tokens of the next turn; None: as many as a completion may have."""

    async def answer(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """Conversations after the environment's answer to their last turn, in order."""

    def close(self) -> None:
        """End its threads and connections."""

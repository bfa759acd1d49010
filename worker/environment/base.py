"""Protocol of environments, and the types of a conversation."""

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
    """Consecutive tokens of one author; only the policy's tokens are trained on."""

    token_ids: tuple[int, ...]
    by: Author
    sampler_logprobs: tuple[float, ...] = field(default=())
    """Log-probability of each policy token when it was sampled, from the softmax of logits / temperature."""
    sampler_entropies: tuple[float, ...] | None = None
    """Entropy (nats) at each policy token; None if the engine reports none."""
    turn: int = 0
    """Number of the turn that the segment belongs to or answers."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str
    """Arguments as JSON; if they cannot be parsed, the call as the policy wrote it."""
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
    """`ok`, or why the reply failed: one of `reinforge.tools.statuses`."""
    text: str = ""
    """Text as the policy reads it, or the error message; "" if the user ended the rollout."""
    ended: bool = False
    cut: bool = False
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PolicyTurn:
    """Tokens `start` to `end` (exclusive) of the completion."""

    no: int
    start: int
    end: int
    text: str
    calls: tuple[ToolCall, ...] = ()
    reply: UserReply | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """State of a rollout after a turn of the policy or after the environment's answer."""

    prompt: Prompt
    prompt_no: int
    sample_no: int
    seed: int
    """Seed of the environment's random numbers, the same for all rollouts of a prompt in a step."""
    segments: tuple[Segment, ...] = ()
    """The completion, split by author."""
    text: str = ""
    """Text of the policy's last turn."""
    turn_end: Literal["stop", "length"] = "stop"
    turns: tuple[PolicyTurn, ...] = ()
    messages: tuple[dict[str, Any], ...] = ()
    """Messages that follow the prompt."""
    state: Any = None
    """State that the environment keeps for the rollout."""
    finish_reason: CompletionEnd | None = None
    """How the conversation ended; None while it continues."""
    failure: str | None = None
    """Failure status; it excludes the rollout from statistics and loss."""
    failure_message: str | None = None
    branches: int = 1
    """Number of conversations that the rollout branched into, including this one."""
    branch: int = 0
    """Index of this conversation among the rollout's branches."""
    branch_reason: str | None = None
    """Why this branch began (`worker.environment.agent.calls.BranchReason`)."""
    share: float = 1.0
    """Fraction of the rollout's trained tokens in this conversation."""
    others: tuple["Conversation", ...] = ()
    """The rollout's other conversations; empty unless they are trained."""
    reward: float | None = None
    """Reward that the environment returned for the whole rollout."""
    first_state: Any = None
    """`state` before the first turn."""
    call_span: tuple[int, int] | None = None
    """Token positions (start, end) of the first turn's first tool call, without its opening mark. None
    without a call, or if the algorithm reads no spans.
    """
    source: int | None = None
    """`sample_no` of the rollout whose first tokens this one continues, if any."""

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
    """Maximum number of turns. If 1, `answer` gets one group at a time; otherwise several groups."""

    async def begin(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """Set the state, and the prompt that the policy reads, of one conversation per prompt."""

    def room(self, conversation: Conversation) -> int | None:
        """Maximum number of tokens of the next turn; None if only the completion's limit applies."""

    async def answer(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """Answer the last turn of each conversation, in order."""

    def close(self) -> None:
        """End the environment's threads and connections."""

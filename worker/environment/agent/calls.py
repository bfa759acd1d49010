"""Model calls of a rollout, as its program sends them and as the engine answers them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from worker.environment.agent.messages import ChainDigest, Message

BranchReason = Literal[
    "first",
    "continued",
    "fork",
    "sampled_again",
    "history_rewritten",
    "reasoning_dropped",
    "system_message",
    "tools_changed",
    "sub_agent",
]
"""How a call follows those before it. All but `continued` begin a branch.

`fork`: it continues an answer that another call continued. `sampled_again`: it has the messages and tools of another
call and is no retry of it. All others get a prompt that is rendered as a whole. Behind an answer in the messages as
they were, `system_message`: no template is proved to continue with one; `reasoning_dropped`, `tools_changed`: nothing
else differs. Else `history_rewritten` where the first message is that of an earlier call, `sub_agent` where it is not.
"""

CallFault = Literal[
    "no_tokens",
    "prompt_differs",
    "version_differs",
    "logprob_count",
    "logprob_not_finite",
    "logprob_positive",
]
"""Why an answer cannot be trained on."""

CallLimit = Literal["max_model_calls", "max_policy_tokens", "max_branches"]


@dataclass(frozen=True, slots=True)
class CaptureLimits:
    """Limits of a rollout."""

    max_model_calls: int
    max_policy_tokens: int
    """Tokens sampled in all calls. Calls that are answered side by side may exceed it together."""
    max_branches: int


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A request of the program."""

    messages: tuple[Message, ...]
    tools: tuple[Message, ...] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """All that decides about the answer beside messages and tools; JSON."""
    request_id: str = ""
    idempotency_key: str | None = None
    retry_count: int | None = None
    """How often the client sent the request before, by its own count; None: it does not count."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What the engine sampled."""

    prompt_ids: tuple[int, ...]
    """The prompt as the engine read it."""
    token_ids: tuple[int, ...]
    sampler_logprobs: tuple[float, ...]
    version: int
    """Version of the policy."""
    message: Message
    """The assistant's message as the program receives it."""
    sampler_entropies: tuple[float, ...] | None = None


@dataclass(slots=True, eq=False)
class ModelCall:
    """Node of the capture graph."""

    no: int
    request: CallRequest
    digest: str
    """SHA-256 (hex) of messages, tools and parameters."""
    chain: ChainDigest
    """Of its messages."""
    reason: BranchReason
    parent: "ModelCall | None"
    """The call whose tokens it continues."""
    new_messages: tuple[Message, ...]
    """Messages behind the parent's answer; without a parent all."""
    new_ids: tuple[int, ...] | None = None
    """Tokens of `new_messages`."""
    answer: CallAnswer | None = None
    answer_chain: ChainDigest | None = None
    """Of its messages and the answer."""
    fault: CallFault | None = None
    abandoned: bool = False
    """Whether the client closed the connection before the answer reached it."""
    cancelled: bool = False
    """Whether the engine could not answer, or the rollout ended before."""
    children: list["ModelCall"] = field(default_factory=list)

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """Tokens that the engine reads: those of the parent, what it sampled, and the new ones."""
        pieces: list[tuple[int, ...]] = []
        call: ModelCall | None = self
        while call is not None:
            if call.new_ids is None:
                raise ValueError(f"call {call.no} has no prompt yet")
            pieces.append(call.new_ids)
            call = call.parent
            if call is not None:
                assert call.answer is not None
                pieces.append(call.answer.token_ids)
        return tuple(token for piece in reversed(pieces) for token in piece)

    @property
    def used(self) -> bool:
        """Whether the program continued its answer, so it received it, whatever the connection did."""
        return bool(self.children)

    @property
    def received(self) -> bool:
        return self.answer is not None and (self.used or not self.abandoned)

    @property
    def continued(self) -> bool:
        """Whether a call continues it that the engine could answer."""
        return any(not child.cancelled for child in self.children)


def fault_of(answer: CallAnswer, prompt_ids: tuple[int, ...], version: int) -> CallFault | None:
    """version: of the policy that the rollout belongs to."""
    if not answer.token_ids:
        return "no_tokens"
    if answer.prompt_ids != prompt_ids:
        return "prompt_differs"
    if answer.version != version:
        return "version_differs"
    if len(answer.sampler_logprobs) != len(answer.token_ids):
        return "logprob_count"
    if not all(math.isfinite(value) for value in answer.sampler_logprobs):
        return "logprob_not_finite"
    return "logprob_positive" if max(answer.sampler_logprobs) > 0 else None

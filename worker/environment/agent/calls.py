"""Model calls of an agent rollout: requests of its program and answers of the engine."""

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
"""How a call relates to earlier calls of its rollout. Every reason but `continued` begins a branch.

`fork`: the call continues an answer that another call has continued already. `sampled_again`: it has the
messages and tools of another call and is no retry of it. The prompt of all others is rendered as a whole.
`system_message`: a system message follows the earlier answer, and templates are not proved for that.
`tools_changed`, `reasoning_dropped`: the history differs from an earlier call's in nothing else. Otherwise
`history_rewritten` if the first message is that of an earlier call, else `sub_agent`.
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
    """Most tokens sampled in all calls together. Calls that run in parallel may exceed it."""
    max_branches: int


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A model call as the agent program sends it."""

    messages: tuple[Message, ...]
    tools: tuple[Message, ...] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON values on which the answer depends, besides messages and tools: `max_tokens`."""
    request_id: str = ""
    idempotency_key: str | None = None
    retry_count: int | None = None
    """Number of earlier attempts of the request by the client's own count; None if the client does not count.
    """


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """Answer of the engine to a model call."""

    prompt_ids: tuple[int, ...]
    """The prompt as the engine read it."""
    token_ids: tuple[int, ...]
    sampler_logprobs: tuple[float, ...]
    version: int
    """Version of the policy that sampled the answer."""
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
    """Chain digest of the request."""
    reason: BranchReason
    parent: "ModelCall | None"
    """The call whose tokens this call continues, if any."""
    new_messages: tuple[Message, ...]
    """Messages after the parent's answer; all messages if there is no parent."""
    new_ids: tuple[int, ...] | None = None
    """Tokens of `new_messages`."""
    answer: CallAnswer | None = None
    answer_chain: ChainDigest | None = None
    """Chain digest of the request and its answer."""
    fault: CallFault | None = None
    abandoned: bool = False
    """Whether the client closed the connection before the answer reached it."""
    cancelled: bool = False
    """Whether the call could not be answered, or the rollout ended before its answer."""
    children: list["ModelCall"] = field(default_factory=list)

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """Token ids of the whole prompt: those of the parent's prompt and answer, then `new_ids`."""
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
        """Whether a later call contains this call's answer: the program received it even if the connection
        broke.
        """
        return bool(self.children)

    @property
    def received(self) -> bool:
        return self.answer is not None and (self.used or not self.abandoned)

    @property
    def continued(self) -> bool:
        """Whether a call that was not cancelled continues this call."""
        return any(not child.cancelled for child in self.children)


def fault_of(answer: CallAnswer, prompt_ids: tuple[int, ...], version: int) -> CallFault | None:
    """Fault of an answer, or None. version: of the rollout's policy."""
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

"""Model calls of an agent rollout: the agent program's requests and the engine's answers."""

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
"""How a model call relates to earlier calls of its rollout. Every value but `continued` begins a branch.

`fork`: the call continues an answer that another call already continues. `sampled_again`: an earlier call has
the same messages and tools, and this call is no retry of it. With the values below, the whole prompt is
rendered. `system_message`: a system message follows the earlier answer; templates are not checked for that.
`tools_changed`, `reasoning_dropped`: only the tools or the reasoning differ from an earlier call's.
`history_rewritten`: other messages differ, but the first one equals an earlier call's. `sub_agent`: the first
message differs, too.
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
    max_model_calls: int
    max_policy_tokens: int
    """Maximum number of tokens sampled in all calls together. Calls that run in parallel may exceed it."""
    max_branches: int


@dataclass(frozen=True, slots=True)
class CallRequest:
    messages: tuple[Message, ...]
    tools: tuple[Message, ...] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Other JSON values that affect the answer: `max_tokens`."""
    request_id: str = ""
    idempotency_key: str | None = None
    retry_count: int | None = None
    """How many earlier attempts the client reports; None if it reports no number."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    prompt_ids: tuple[int, ...]
    """Prompt tokens that the engine received."""
    token_ids: tuple[int, ...]
    sampler_logprobs: tuple[float, ...]
    version: int
    """Version of the policy that sampled the answer."""
    message: Message
    """The assistant's message as the program receives it."""
    sampler_entropies: tuple[float, ...] | None = None


@dataclass(slots=True, eq=False)
class ModelCall:
    no: int
    request: CallRequest
    digest: str
    """SHA-256 (hex) of messages, tools and parameters."""
    chain: ChainDigest
    """Digests of the request."""
    reason: BranchReason
    parent: "ModelCall | None"
    """The call whose tokens this call continues, if any."""
    new_messages: tuple[Message, ...]
    """Messages after the parent's answer; all messages if there is no parent."""
    new_ids: tuple[int, ...] | None = None
    """Tokens of `new_messages`."""
    answer: CallAnswer | None = None
    answer_chain: ChainDigest | None = None
    """Digests of the request and its answer."""
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
        """Whether a later call continues this call's answer, so that the program must have received it."""
        return bool(self.children)

    @property
    def received(self) -> bool:
        return self.answer is not None and (self.used or not self.abandoned)

    @property
    def continued(self) -> bool:
        """Whether a call that was not cancelled continues this call."""
        return any(not child.cancelled for child in self.children)


def fault_of(answer: CallAnswer, prompt_ids: tuple[int, ...], version: int) -> CallFault | None:
    """Why an answer cannot be trained on, or None. version: of the rollout's policy."""
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

"""Capture graph: the model calls of one rollout, each linked to the call that it continues.

If a call's messages begin with an earlier call's messages and answer, its prompt is the earlier prompt, the
sampled tokens, and the tokens of the new messages. Every other call renders its whole prompt. Sampled tokens
are never tokenized again.
"""

from typing import NoReturn

from reinforge.errors import InvalidInput, StateConflict
from reinforge.parsing.json_depth import is_deeper
from worker.environment.agent.calls import (
    BranchReason,
    CallAnswer,
    CallLimit,
    CallRequest,
    CaptureLimits,
    ModelCall,
    fault_of,
)
from worker.environment.agent.messages import ChainDigest, chain_digests, value_digest
from worker.environment.agent.rows import RolloutCapture, captured

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_CONTINUING = frozenset({"user", "tool"})
"""Roles of messages that may follow an answer; chat templates are checked for no others."""


class CaptureGraph:
    """Not thread-safe."""

    def __init__(self, rollout: str, version: int, limits: CaptureLimits) -> None:
        self.rollout = rollout
        self.limit: CallLimit | None = None
        """The first limit that refused a call, if any."""
        self._version = version
        self._limits = limits
        self._calls: list[ModelCall] = []
        self._by_key: dict[str, ModelCall] = {}
        self._by_chain: dict[str, list[ModelCall]] = {}
        self._answered: dict[str, list[ModelCall]] = {}
        """Answered calls by `answer_chain.exact`."""
        self._without_reasoning: set[str] = set()
        self._without_tools: set[str] = set()
        self._first_messages: set[str] = set()
        self._closed = False

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """All calls that were not cancelled."""
        return tuple(call for call in self._calls if not call.cancelled)

    @property
    def calls_by_no(self) -> dict[int, ModelCall]:
        return {call.no: call for call in self._calls}

    @property
    def room(self) -> int:
        """How many more tokens the rollout may sample."""
        sampled = sum(len(call.answer.token_ids) for call in self.calls if call.answer)
        return max(0, self._limits.max_policy_tokens - sampled)

    def open(self, request: CallRequest) -> tuple[ModelCall, bool]:
        """Return a request's call and whether it is new. A retry gets the call of the earlier request.

        A request with an idempotency key retries the request with the same key. Without a key, it retries an
        equal request whose answer no later call continues. If the client counts attempts, its first attempt
        retries an abandoned call only, and later attempts any equal request.

        Raises InvalidInput for malformed messages. Raises StateConflict if the rollout has ended, another
        request has the key, or a limit is reached; `limit` then names it.
        """
        _check(request)
        if self._closed:
            raise StateConflict(
                "The rollout has ended.", code="rollout_ended", hint="Take another rollout and use its key."
            )
        chain = chain_digests(request.messages, request.tools)
        digest = value_digest([chain[-1].exact, dict(request.parameters)])
        earlier = self._earlier(request, digest, chain[-1])
        if earlier is not None:
            earlier.abandoned = False
            return earlier, False
        call = self._placed(request, digest, chain)
        self._check_limits(call)
        self._add(call, chain)
        return call, True

    def set_prompt(self, call: ModelCall, new_ids: tuple[int, ...]) -> None:
        if call.new_ids is not None:
            raise ValueError(f"call {call.no} already has a prompt")
        call.new_ids = new_ids

    def answer(self, call: ModelCall, answer: CallAnswer) -> None:
        """Record the engine's answer, unless the call is cancelled."""
        if call.cancelled:
            return
        if call.answer is not None:
            raise ValueError(f"call {call.no} already has an answer")
        call.fault = fault_of(answer, call.prompt_ids, self._version)
        call.answer = answer
        call.answer_chain = call.chain.extended(answer.message)
        self._answered.setdefault(call.answer_chain.exact, []).append(call)
        self._without_reasoning.add(call.answer_chain.without_reasoning)
        self._without_tools.add(call.answer_chain.without_tools)

    def abandon(self, call: ModelCall) -> None:
        """Mark a call whose client disconnected before the answer. The answer is trained on only if a retry
        fetches it or a later call continues it.
        """
        call.abandoned = True

    def deliver(self, call: ModelCall) -> None:
        """Mark a call whose answer reached the client, even if an earlier connection was closed."""
        call.abandoned = False

    def cancel(self, call: ModelCall) -> None:
        """Mark a call that cannot be answered. A retry is a new call; limits do not count this one."""
        if call.answer is not None:
            raise ValueError(f"call {call.no} cannot be cancelled: it already has an answer")
        call.cancelled = True

    def close(self) -> None:
        """End the rollout: calls without an answer are cancelled, later ones refused."""
        self._closed = True
        for call in self._calls:
            call.cancelled = call.cancelled or call.answer is None

    def capture(self) -> RolloutCapture:
        return captured(self.rollout, self.calls)

    def _earlier(self, request: CallRequest, digest: str, chain: ChainDigest) -> ModelCall | None:
        if request.idempotency_key is not None:
            call = self._by_key.get(request.idempotency_key)
            if call is None or call.cancelled:
                return None
            if call.digest != digest:
                raise StateConflict(
                    "The idempotency key belongs to another request.",
                    code="idempotency_key_reused",
                    hint="Send a new key with every request, and the same key with its retries.",
                )
            return call
        equal = [
            call
            for call in self._by_chain.get(chain.exact, ())
            if call.digest == digest and not call.cancelled and call.request.idempotency_key is None
        ]
        unused = [call for call in equal if not call.used]
        candidates = [call for call in unused if call.abandoned]
        if request.retry_count is None:
            candidates = candidates or unused
        elif request.retry_count > 0:
            candidates = candidates or unused or equal
        return candidates[-1] if candidates else None

    def _placed(self, request: CallRequest, digest: str, chain: list[ChainDigest]) -> ModelCall:
        """New call, not yet added to the graph."""
        parent, reason, start = self._continued(request, chain)
        equal = self._by_chain.get(chain[-1].exact, [])
        repeated = next((call for call in equal if not call.cancelled), None)
        if repeated is not None:
            # Answers with equal messages may differ in tokens: the repeated request reads what the first one read.
            parent, reason = repeated.parent, "sampled_again"
            start = len(request.messages) - len(repeated.new_messages)
        elif equal and parent is None:
            reason = equal[0].reason
        new_messages = request.messages[start:]
        return ModelCall(len(self._calls), request, digest, chain[-1], reason, parent, new_messages)

    def _continued(
        self, request: CallRequest, chain: list[ChainDigest]
    ) -> tuple[ModelCall | None, BranchReason, int]:
        """Parent of the request's call, its branch reason, and the index of its first new message."""
        start = _behind_last_answer(request)
        answered = self._answered.get(chain[start].exact, []) if start else []
        if answered and all(message["role"] in _CONTINUING for message in request.messages[start:]):
            parent = min(answered, key=lambda call: (call.continued, not call.received))
            return parent, "fork" if parent.continued else "continued", start
        return None, self._break(chain, start, answered=bool(answered)), 0

    def _break(self, chain: list[ChainDigest], start: int, *, answered: bool) -> BranchReason:
        if not self.calls:
            return "first"
        if answered:
            return "system_message"
        if {chain[start].without_tools, chain[-1].without_tools} & self._without_tools:
            return "tools_changed"
        if chain[start].without_reasoning in self._without_reasoning:
            return "reasoning_dropped"
        return "history_rewritten" if chain[1].without_tools in self._first_messages else "sub_agent"

    def _check_limits(self, call: ModelCall) -> None:
        calls = self.calls
        branches = sum(other.reason != "continued" for other in calls)
        if len(calls) >= self._limits.max_model_calls:
            self._refuse("max_model_calls", "model calls")
        if self.room == 0:
            self._refuse("max_policy_tokens", "sampled tokens")
        if call.reason != "continued" and branches >= self._limits.max_branches:
            self._refuse("max_branches", f"branches; this call would begin another ({call.reason})")

    def _refuse(self, limit: CallLimit, what: str) -> NoReturn:
        self.limit = self.limit or limit
        # A conflict: clients repeat a request that is refused with 429.
        raise StateConflict(
            f"The rollout has reached its limit of {getattr(self._limits, limit)} {what}.",
            code=limit,
            hint="End the rollout, or raise the limit in the job file.",
        )

    def _add(self, call: ModelCall, chain: list[ChainDigest]) -> None:
        self._calls.append(call)
        self._by_chain.setdefault(call.chain.exact, []).append(call)
        self._without_tools.add(call.chain.without_tools)
        self._first_messages.add(chain[1].without_tools)
        if call.request.idempotency_key is not None:
            self._by_key[call.request.idempotency_key] = call
        if call.parent is not None:
            call.parent.children.append(call)


def _behind_last_answer(request: CallRequest) -> int:
    """Index of the message after the assistant's last one, else 0."""
    roles = [message["role"] for message in request.messages]
    return max((number + 1 for number, role in enumerate(roles) if role == "assistant"), default=0)


def _check(request: CallRequest) -> None:
    for number, message in enumerate(request.messages):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str) or role not in _ROLES:
            raise InvalidInput(
                f"Message {number + 1} has no valid role.",
                code="invalid_messages",
                param=f"messages[{number}].role",
                hint=f"Set its role to one of {', '.join(sorted(_ROLES))}.",
            )
    if not request.messages or request.messages[-1]["role"] == "assistant":
        raise InvalidInput(
            "There are no messages, or the last one is the assistant's, so the model has nothing to answer.",
            code="invalid_messages",
            param="messages",
            hint="End with a message of the user or of a tool.",
        )
    if is_deeper([list(request.messages), list(request.tools or ()), dict(request.parameters)]):
        raise InvalidInput("The request is nested deeper than 128 levels.", code="invalid_messages")

"""Capture graph: the model calls of one rollout, and which of them continue which.

A call whose messages begin with an earlier call's messages and answer continues the tokens of that call:
ids(t + 1) = ids(t) + sampled + suffix. Every other call begins with a prompt of its own. Nothing that was sampled is
ever tokenized again.
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
"""Roles of messages that a proved template appends to a turn."""


class CaptureGraph:
    """Model calls of one rollout. For one thread."""

    def __init__(self, rollout: str, version: int, limits: CaptureLimits) -> None:
        """version: of the policy that samples all answers."""
        self.rollout = rollout
        self.limit: CallLimit | None = None
        """The first limit that a call was refused for."""
        self._version = version
        self._limits = limits
        self._calls: list[ModelCall] = []
        self._by_key: dict[str, ModelCall] = {}
        self._by_chain: dict[str, list[ModelCall]] = {}
        """By `chain.exact`."""
        self._answered: dict[str, list[ModelCall]] = {}
        """By `answer_chain.exact`."""
        self._without_reasoning: set[str] = set()
        self._without_tools: set[str] = set()
        self._first_messages: set[str] = set()
        self._closed = False

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """All but those that the engine could not answer."""
        return tuple(call for call in self._calls if not call.cancelled)

    @property
    def calls_by_no(self) -> dict[int, ModelCall]:
        return {call.no: call for call in self._calls}

    @property
    def room(self) -> int:
        """Tokens that calls may still sample."""
        sampled = sum(len(call.answer.token_ids) for call in self.calls if call.answer)
        return max(0, self._limits.max_policy_tokens - sampled)

    def open(self, request: CallRequest) -> tuple[ModelCall, bool]:
        """The call of a request, and whether it is new; a retry of an earlier request gets that one's call.

        A client that sends keys decides by them. Otherwise an equal request is a retry while the earlier one is
        unanswered or its answer unused; a client that counts its retries says so itself, and only what it abandoned
        is retried by a first attempt. Raises InvalidInput or StateConflict; `limit` names a limit.
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
        """new_ids: the suffix of `new_messages` behind the parent's answer; without a parent the rendered prompt."""
        if call.new_ids is not None:
            raise ValueError(f"call {call.no} has a prompt")
        call.new_ids = new_ids

    def answer(self, call: ModelCall, answer: CallAnswer) -> None:
        """Record what the engine sampled; what arrives after the call was cancelled is nobody's."""
        if call.cancelled:
            return
        if call.answer is not None:
            raise ValueError(f"call {call.no} has an answer")
        call.fault = fault_of(answer, call.prompt_ids, self._version)
        call.answer = answer
        call.answer_chain = call.chain.extended(answer.message)
        self._answered.setdefault(call.answer_chain.exact, []).append(call)
        self._without_reasoning.add(call.answer_chain.without_reasoning)
        self._without_tools.add(call.answer_chain.without_tools)

    def abandon(self, call: ModelCall) -> None:
        """The client closed the connection before the answer reached it. Not trained unless a retry collects it."""
        call.abandoned = True

    def deliver(self, call: ModelCall) -> None:
        """The answer reached the client, though it may have closed an earlier connection."""
        call.abandoned = False

    def cancel(self, call: ModelCall) -> None:
        """The engine could not answer: a retry is a new call, and no limit counts this one."""
        if call.answer is not None:
            raise ValueError(f"call {call.no} has an answer")
        call.cancelled = True

    def close(self) -> None:
        """End the rollout: calls without an answer are cancelled, later ones refused."""
        self._closed = True
        for call in self._calls:
            call.cancelled = call.cancelled or call.answer is None

    def capture(self) -> RolloutCapture:
        """What can be trained on so far."""
        return captured(self.rollout, self.calls)

    def _earlier(self, request: CallRequest, digest: str, chain: ChainDigest) -> ModelCall | None:
        """The call that the request is a retry of."""
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
        """The call at its place in the graph, not added to it yet."""
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
        """(the call that this one continues, why it is where it is, its first new message)."""
        start = _behind_last_answer(request)
        answered = self._answered.get(chain[start].exact, []) if start else []
        if answered and all(message["role"] in _CONTINUING for message in request.messages[start:]):
            parent = min(answered, key=lambda call: (call.continued, not call.received))
            return parent, "fork" if parent.continued else "continued", start
        return None, self._break(chain, start, answered=bool(answered)), 0

    def _break(self, chain: list[ChainDigest], start: int, *, answered: bool) -> BranchReason:
        """Why a call begins with a prompt of its own."""
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
            self._refuse("max_branches", f"branches; this one would begin with {call.reason}")

    def _refuse(self, limit: CallLimit, what: str) -> NoReturn:
        self.limit = self.limit or limit
        # A conflict: clients repeat a request that is refused with 429.
        raise StateConflict(
            f"The rollout has had its {getattr(self._limits, limit)} {what}.",
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
    """Number of the message behind the last one of the assistant; 0 without one."""
    roles = [message["role"] for message in request.messages]
    return max((number + 1 for number, role in enumerate(roles) if role == "assistant"), default=0)


def _check(request: CallRequest) -> None:
    """Raises InvalidInput."""
    for number, message in enumerate(request.messages):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str) or role not in _ROLES:
            raise InvalidInput(
                f"Message {number + 1} is no message.",
                code="invalid_messages",
                param=f"messages[{number}].role",
                hint=f"Its role is one of {', '.join(sorted(_ROLES))}.",
            )
    if not request.messages or request.messages[-1]["role"] == "assistant":
        raise InvalidInput(
            "The last message is not for the model to answer.",
            code="invalid_messages",
            param="messages",
            hint="End with a message of the user or of a tool.",
        )
    if is_deeper([list(request.messages), list(request.tools or ()), dict(request.parameters)]):
        raise InvalidInput("The request has too many levels of objects and lists.", code="invalid_messages")

"""Template and engine around a capture graph: one writes characters, the other never samples a token twice.

Tokens of prompts are code points; tokens that were sampled are larger, so that each has one owner.
"""

import itertools
import json
from collections.abc import Sequence
from typing import Any

from worker.environment.agent.calls import CallAnswer, CallRequest, CaptureLimits, ModelCall
from worker.environment.agent.graph import CaptureGraph

VERSION = 3
FIRST_SAMPLED = 2_000_000
WIDE = CaptureLimits(max_model_calls=256, max_policy_tokens=100_000, max_branches=64)
SYSTEM = {"role": "system", "content": "Answer."}
TASK = {"role": "user", "content": "Task"}

_tokens = itertools.count(FIRST_SAMPLED)

Message = dict[str, Any]


def graph(limits: CaptureLimits = WIDE, rollout: str = "r") -> CaptureGraph:
    return CaptureGraph(rollout, VERSION, limits)


def request(*messages: Message, **fields: Any) -> CallRequest:
    return CallRequest(tuple(messages), **fields)


def result(text: str) -> Message:
    return {"role": "tool", "tool_call_id": "c", "content": text}


def assistant(text: str, **fields: Any) -> Message:
    return {"role": "assistant", "content": text, **fields}


def ids_of(messages: Sequence[Any]) -> tuple[int, ...]:
    """Tokens that a template writes for messages."""
    return tuple(map(ord, json.dumps(list(messages))))


def open_call(capture: CaptureGraph, *messages: Message, **fields: Any) -> ModelCall:
    """A call with its prompt; fails if the request is a retry."""
    call, new = capture.open(request(*messages, **fields))
    assert new
    capture.set_prompt(call, ids_of(call.new_messages))
    return call


def sampled(call: ModelCall, message: Message, tokens: int = 3, **changes: Any) -> CallAnswer:
    """What the engine answers."""
    ids = tuple(itertools.islice(_tokens, tokens))
    fields: dict[str, Any] = {
        "prompt_ids": call.prompt_ids,
        "sampler_logprobs": (-0.5,) * tokens,
        "version": VERSION,
    }
    return CallAnswer(token_ids=ids, message=message, **(fields | changes))


def ask(capture: CaptureGraph, *messages: Message, text: str = "", **fields: Any) -> ModelCall:
    """A new call with an answer."""
    call = open_call(capture, *messages, **fields)
    capture.answer(call, sampled(call, assistant(text or f"answer {call.no}")))
    return call


def reply(call: ModelCall) -> Message:
    """The message that the program received."""
    assert call.answer is not None
    return dict(call.answer.message)

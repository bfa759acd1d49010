"""Forms of a judge's reply, and their parsers, which raise JudgeFailed."""

import json
import math
from dataclasses import dataclass
from typing import Any

_STEPS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"description": {"type": "string"}, "conclusion": {"type": "string"}},
        "required": ["description", "conclusion"],
        "additionalProperties": False,
    },
}
REASON_CHARACTERS = 2000


class JudgeFailed(Exception):
    def __init__(self, code: str, message: str, usage: dict[str, float] | None = None) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.usage = usage or {}


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """Form of a reply: a JSON object with `steps` (reasoning) and `field`, whose value `words` describes."""

    field: str
    schema: dict[str, Any]
    words: str

    @property
    def json_schema(self) -> dict[str, Any]:
        # `steps` first: the judge then bases its result on its reasoning.
        return {
            "type": "object",
            "properties": {"steps": _STEPS, self.field: self.schema},
            "required": ["steps", self.field],
            "additionalProperties": False,
        }

    @property
    def instruction(self) -> str:
        return (
            'Answer with one JSON object and nothing else: {"steps": [{"description": "…", "conclusion": "…"}], '
            f'"{self.field}": …}}, where steps is your reasoning and {self.field} is {self.words}.'
        )


def number_form() -> ReplyForm:
    return ReplyForm("result", {"type": "number"}, "a number")


def label_form(labels: list[str]) -> ReplyForm:
    return ReplyForm("result", {"type": "string", "enum": labels}, f"one of {', '.join(map(repr, labels))}")


def ranking_form(count: int) -> ReplyForm:
    schema = {"type": "array", "items": {"type": "integer"}}
    return ReplyForm("ranking", schema, f"the numbers 1 to {count}, the best answer's first")


@dataclass(frozen=True, slots=True)
class JudgeCompletion:
    """Chat completion of a judge, whose `usage` counts even if the reply is unusable."""

    text: str | None
    refusal: str | None
    finish_reason: str | None
    usage: dict[str, Any]

    def content(self) -> str:
        if self.refusal or self.finish_reason == "content_filter":
            raise JudgeFailed(
                "judge_refusal", f"the judge refused: {(self.refusal or self.text or '')[:300]}"
            )
        if self.finish_reason == "length":
            raise JudgeFailed(
                "judge_out_of_tokens",
                "the judge's reply was cut off: raise sampling_params.max_completions_tokens",
            )
        if self.text is None or not self.text.strip():
            raise JudgeFailed("judge_malformed", "the judge's reply is empty")
        return self.text


def parse_completion(content: bytes) -> JudgeCompletion:
    try:
        answer = json.loads(content)
        choice = answer["choices"][0]
        message = choice["message"]
        fields = (message.get("content"), message.get("refusal"), choice.get("finish_reason"))
        text, refusal, finish = (value if isinstance(value, str) else None for value in fields)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise JudgeFailed(
            "judge_malformed", f"the server's answer is not a chat completion: {_excerpt(content)}"
        ) from error
    usage = answer.get("usage")
    return JudgeCompletion(text, refusal, finish, usage if isinstance(usage, dict) else {})


def parse_reply(text: str, form: ReplyForm) -> dict[str, Any]:
    """The JSON object with `form.field` in a judge's reply."""
    # Some judges write their reasoning before the answer.
    body = text.rpartition("</think>")[2].strip()
    for candidate in (body, *_fenced(body), body[body.find("{") : body.rfind("}") + 1]):
        try:
            reply = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(reply, dict) and form.field in reply:
            return reply
    raise JudgeFailed("judge_malformed", f"the judge's reply has no {form.field}: {text[:300]!r}")


def _fenced(text: str) -> list[str]:
    pieces = [piece.removeprefix("json") for piece in text.split("```")[1:-1]]
    return [piece for piece in pieces if "\n" in piece[: len(piece) - len(piece.lstrip())]]


def number(reply: dict[str, Any]) -> float:
    value = reply["result"]
    try:
        result = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise JudgeFailed("judge_malformed", f"the judge's result is not a number: {value!r:.100}")
    return result


def label(reply: dict[str, Any], labels: list[str]) -> str:
    value = reply["result"]
    by_small = {name.casefold(): name for name in labels}
    match = value if value in labels else by_small.get(str(value).strip().casefold())
    if not isinstance(match, str):
        raise JudgeFailed(
            "judge_malformed", f"the judge's label {value!r:.100} is none of {', '.join(labels)}"
        )
    return match


def ranks(reply: dict[str, Any], count: int) -> list[int]:
    """Rank of each answer, 0 for the best."""
    order = reply["ranking"]
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(map(str, range(1, count + 1))):
        raise JudgeFailed(
            "judge_malformed", f"the judge's ranking {order!r:.200} does not order the numbers 1 to {count}"
        )
    places = [0] * count
    for place, answer in enumerate(order):
        places[int(answer) - 1] = place
    return places


def reason(reply: dict[str, Any]) -> str | None:
    steps = reply.get("steps")
    if not isinstance(steps, list):
        return None
    lines = [
        f"{step.get('description', '')}: {step.get('conclusion', '')}"
        for step in steps
        if isinstance(step, dict)
    ]
    return "\n".join(lines)[:REASON_CHARACTERS] or None


def _excerpt(content: bytes) -> str:
    return repr(content[:200].decode("utf-8", "replace"))

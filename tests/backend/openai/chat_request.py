"""A chat request in a thread, events of a worker, and OpenAI's published schemas of the responses."""

import json
import threading
from typing import Any

import httpx

from tests.backend.openai.schemas import SECONDS, TEXT, Schema, an_object, checked, constant, or_null
from tests.backend.server import OWNER_KEY, Backend

USER = {"role": "user", "content": "1+1="}
BODY: dict[str, Any] = {"model": "tiny", "messages": [USER]}

_TOKEN = {"token": TEXT, "logprob": {"type": "number"}, "bytes": or_null({"type": "array"})}
_TOKENS = {
    "type": "array",
    "items": an_object({**_TOKEN, "top_logprobs": {"type": "array", "items": an_object(_TOKEN)}}),
}
LOGPROBS = or_null(an_object({"content": or_null(_TOKENS), "refusal": or_null(TEXT)}))
REASONS = ["stop", "length", "tool_calls", "content_filter", "function_call"]
_CALL = an_object(
    {"id": TEXT, "type": constant("function"), "function": an_object({"name": TEXT, "arguments": TEXT})}
)
USAGE = an_object(
    {name: {"type": "integer"} for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
)
MESSAGE = an_object(
    {"role": constant("assistant"), "content": or_null(TEXT), "refusal": or_null(TEXT)},
    {"tool_calls": {"type": "array", "items": _CALL}},
)
CHOICE = an_object(
    {
        "index": {"type": "integer"},
        "message": MESSAGE,
        "logprobs": LOGPROBS,
        "finish_reason": {"enum": REASONS},
    }
)
_OBJECT = {"id": {"type": "string", "pattern": "^chatcmpl-"}, "created": SECONDS, "model": TEXT}
COMPLETION: Schema = an_object(
    {**_OBJECT, "object": constant("chat.completion"), "choices": {"type": "array", "items": CHOICE}},
    {"usage": USAGE, "system_fingerprint": TEXT},
)
_DELTA = an_object(
    {}, {"role": constant("assistant"), "content": or_null(TEXT), "tool_calls": {"type": "array"}}
)
CHUNK: Schema = an_object(
    {
        **_OBJECT,
        "object": constant("chat.completion.chunk"),
        "choices": {
            "type": "array",
            "items": an_object(
                {"delta": _DELTA, "finish_reason": {"enum": [*REASONS, None]}, "index": {"type": "integer"}},
                {"logprobs": LOGPROBS},
            ),
        },
    },
    {"usage": or_null(USAGE)},
)


class Chat(threading.Thread):
    """A request under way."""

    def __init__(self, backend: Backend, *, patience: float = 30.0, **fields: Any) -> None:
        super().__init__(daemon=True)
        self.http = backend.client(OWNER_KEY, "/v1")
        self.http.timeout = patience
        self.body = BODY | fields
        self.answer: httpx.Response | None = None
        self.lines: list[str] = []
        self.left = False
        self.start()

    def run(self) -> None:
        try:
            with self.http.stream("POST", "/chat/completions", json=self.body) as response:
                for line in response.iter_lines():
                    self.lines.append(line)
                self.answer = response
        except httpx.TimeoutException:
            self.left = True

    def end(self) -> httpx.Response:
        self.join(30)
        assert self.answer is not None, "no answer"
        return self.answer

    def json(self) -> Any:
        self.end()
        return json.loads("\n".join(self.lines))

    def data(self) -> list[str]:
        self.end()
        return [line.removeprefix("data: ") for line in self.lines if line.startswith("data: ")]

    def chunks(self) -> list[dict[str, Any]]:
        *chunks, done = self.data()
        assert done == "[DONE]"
        parsed = [json.loads(chunk) for chunk in chunks]
        for chunk in parsed:
            checked(chunk, CHUNK)
        return parsed


def prompt(tokens: int) -> dict[str, Any]:
    return {"type": "prompt", "prompt": 0, "tokens": tokens}


def delta(text: str, tokens: int, sample: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "delta", "prompt": 0, "sample": sample, "text": text, "tokens": tokens, **more}


def done(text: str, tokens: int, reason: str = "stop", sample: int = 0, **more: Any) -> dict[str, Any]:
    event = {"type": "done", "prompt": 0, "sample": sample, "text": text, "tokens": tokens}
    return event | {"finish_reason": reason, **more}

"""A notation of tool calls, and the messages and calls that its reader returns."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Tools = Sequence[dict[str, Any]]
"""Tools as OpenAI describes them: {"type": "function", "function": {"name", "parameters"}}."""

MOST_CALLS = 256
"""Maximum calls read in one message; later calls stay text."""
MOST_CHARACTERS = 1 << 18
DEEPEST = 64
"""Maximum levels of lists and objects in arguments."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    name: str
    """Name of the tool; "" where it cannot be read."""
    arguments: dict[str, Any] | None
    """Arguments as JSON values; None where they cannot be read."""
    raw: str
    """Text of the call with its marks."""
    error: str | None = None
    """Why the call cannot be read: a sentence for the model."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    content: str
    """Text without reasoning, calls and end-of-turn tokens."""
    reasoning: str = ""
    calls: tuple[ParsedCall, ...] = ()


class CallPassage(NamedTuple):
    """A call at `text[start:end]`."""

    start: int
    end: int
    call: ParsedCall


class Sections(NamedTuple):
    """A message split into content, which includes the calls, and reasoning."""

    content: str
    reasoning: str


@dataclass(frozen=True, slots=True)
class Notation:
    """A notation of tool calls. `read` takes time linear in the text's length and never raises."""

    name: str
    marks: tuple[str, ...]
    """Marks that begin a call: a message with calls contains one. Empty if calls have no marks."""
    sections: Callable[[str], Sections]
    passages: Callable[[str, Tools], Iterable[CallPassage]]
    """Finds a content's calls from left to right, without overlap."""
    special_tokens: bool = False
    """Whether the marks are special tokens, which a completion's text leaves out."""

    def read(self, text: str, tools: Tools | None = None) -> AssistantMessage:
        """Read a message, decoded with special tokens. tools: schemas that set the arguments' types."""
        content, reasoning = self.sections(text)
        rest, calls = self.split(content, tools)
        return AssistantMessage(without_ends(rest).strip(), reasoning.strip(), calls)

    def split(self, content: str, tools: Tools | None = None) -> tuple[str, tuple[ParsedCall, ...]]:
        """Split off the calls. Returns the remaining text and the calls."""
        pieces: list[str] = []
        calls: list[ParsedCall] = []
        end = 0
        for passage in self.passages(content, tools or ()):
            if len(calls) == MOST_CALLS:
                break
            pieces.append(content[end : passage.start])
            calls.append(passage.call)
            end = passage.end
        return "".join([*pieces, content[end:]]), tuple(calls)

    def first_call(self, text: str) -> tuple[int, int] | None:
        """Start and end of a message's first call, or None. The start is after the opening mark or, if calls
        have no mark, after the first character."""
        content, _ = self.sections(text)
        passage = next(iter(self.passages(content, ())), None)
        if passage is None:
            return None
        if text.endswith(content):
            before = len(text) - len(content)
            start, end = before + passage.start, before + passage.end
        else:
            # Sections of some notations write the content again, with marks that the text need not have.
            start, end = max(0, text.find(self.marks[0])), len(text)
        mark = next((mark for mark in self.marks if text.startswith(mark, start)), None)
        return start + (len(mark) if mark else 1), end


END_MARKS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|eot|>",
    "<|eom|>",
    "<|observation|>",
    "<|user|>",
    "<end_of_turn>",
    "<turn|>",
    "<|tool_response>",
    "<eos>",
    "</s>",
    "<｜end▁of▁sentence｜>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
)


def without_ends(text: str) -> str:
    """Text without trailing white space and end-of-turn tokens of open models."""
    end = len(text)
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        mark = next((mark for mark in END_MARKS if text.endswith(mark, 0, end)), None)
        if mark is None:
            return text[:end]
        end -= len(mark)


def refused(raw: str, error: str, name: str = "") -> ParsedCall:
    return ParsedCall(name, None, raw, error)


def as_openai(call: ParsedCall, id: str) -> dict[str, Any]:
    arguments = json.dumps(call.arguments or {}, ensure_ascii=False)
    return {"id": id, "type": "function", "function": {"name": call.name, "arguments": arguments}}

"""Computes the suffix of a sampled turn: the text, with new messages, that a chat template writes between
this turn and the model's next.

The history is never rendered again: templates drop reasoning from it, or write it differently from the model.
A suffix must not depend on how the conversation began. Runs untrusted templates: use it in `worker.isolated`
only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reinforge.errors import InvalidInput
from reinforge.tool_calls import NOTATIONS

Message = dict[str, Any]
Tools = list[dict[str, Any]]
Render = Callable[[list[Message], Tools | None, bool], str]
"""Renders (messages, tools, whether to open the assistant's turn) as text. May raise anything."""

CODE = "template_not_continuable"
_PROBES = ("plain", '{"a": [1, null]}', "é 'x' \"y\"\n  z", "1")
_SHAPE_LIMIT = 64
_MARK = "rfsentinel"


@dataclass(frozen=True, slots=True)
class ContinuationProof:
    notation: str
    parallel_calls: bool
    """Whether a turn may have several tool calls."""
    reply: bool
    """Whether a user's reply may follow an answer."""


@dataclass(frozen=True, slots=True)
class _Head:
    """Text of a fixed history up to the suffix. by_end: that text by the token that ends the turn."""

    by_end: dict[int, str]
    open: str
    """That text without the token that ends the turn."""


@dataclass
class TemplateContinuation:
    """Continues conversations with `tools` by one chat template. Raises InvalidInput
    `template_not_continuable` if that is impossible.
    """

    render: Render
    encode: Callable[[str], Sequence[int]]
    ends: Mapping[int, str]
    """Text of each token that ends the model's turn, by token id."""
    tools: Tools
    _heads: dict[tuple[tuple[str, str], ...], _Head] = field(default_factory=dict)

    def prove(self, *, reply: bool = False) -> ContinuationProof:
        """Check that tool results can follow a turn. reply: also require that a user's reply can. Without
        tools, only the reply is checked.
        """
        name = self._first_name
        if name is None:
            return ContinuationProof("", parallel_calls=False, reply=self._checked_reply(required=True))
        opening = self._text([{"role": "user", "content": "x"}], generation=True)
        if name not in opening:
            raise not_continuable("the template has no place for tools")
        notation = choose_notation(self.render)
        result: Message = {"role": "tool", "name": name}
        self._try([result])
        return ContinuationProof(notation, self._can([result, result]), self._checked_reply(reply))

    @property
    def _first_name(self) -> str | None:
        return _name(self.tools[0]) if self.tools else None

    def suffix(self, messages: Sequence[Message], ended_by: int | None) -> list[int]:
        """Token ids to append to a turn: the token that ends it, unless it is there, and the messages.

        ended_by: the turn's last token id if that token ends turns, else None.
        """
        text, end = self._suffix_text(messages, ended_by, 0)
        if end is None:
            return list(self.encode(text))
        ids = list(self.encode(self.ends[end] + text))
        if not ids or ids[0] != end:
            raise not_continuable(f"the tokenizer merges {self.ends[end]!r} with the text after it")
        return ids[1:]

    def ends_of(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the tokens with which the template ends a turn before these messages."""
        return list(self._head(_shape(messages)).by_end)

    def _checked_reply(self, required: bool) -> bool:
        try:
            self._try([{"role": "user"}])
        except NotContinuable as error:
            if required:
                raise reply_not_continuable(error.reason) from error
            return False
        return True

    def _can(self, shape: list[Message]) -> bool:
        try:
            self._try(shape)
        except NotContinuable:
            return False
        return True

    def _try(self, shape: list[Message]) -> None:
        """Check that suffixes do not depend on the history."""
        for probe in _PROBES:
            messages = [message | {"content": f"{probe}{place}"} for place, message in enumerate(shape)]
            head = self._head(_shape(messages))
            for end in [*head.by_end, None]:
                suffixes = {self._suffix_text(messages, end, number)[0] for number in range(3)}
                if len(suffixes) != 1:
                    raise not_continuable(
                        "the text that the template writes after a turn depends on earlier turns"
                    )
        for end in head.by_end:
            self.suffix(messages, end)

    def _suffix_text(
        self, messages: Sequence[Message], ended_by: int | None, history: int
    ) -> tuple[str, int | None]:
        """Text of the suffix; and the token that ended the turn, or None if the suffix includes it."""
        shape = _shape(messages)
        head = self._head(shape, history)
        before = head.by_end.get(ended_by) if ended_by is not None else None
        text = self._text(
            self._conversation(shape, history, [str(message["content"]) for message in messages])
        )
        start = head.open if before is None else before
        if not text.startswith(start):
            raise not_continuable("the text that the template writes before a message depends on the message")
        return text[len(start) :], ended_by if before is not None else None

    def _head(self, shape: tuple[tuple[str, str], ...], history: int = 0) -> _Head:
        key = (*shape, ("", str(history)))
        if (head := self._heads.get(key)) is None:
            if len(self._heads) >= _SHAPE_LIMIT:
                self._heads.clear()
            head = self._heads[key] = self._new_head(shape, history)
        return head

    def _new_head(self, shape: tuple[tuple[str, str], ...], history: int) -> _Head:
        contents = [f"{_MARK}{place}" for place in range(len(shape))]
        texts = [self._text(self._conversation(shape, number, contents)) for number in range(3)]
        tail = texts[0][len(texts[0]) - min(_common(texts[0][::-1], text[::-1]) for text in texts[1:]) :]
        places = [tail.find(content) for content in contents]
        if min(places) < 0 or places != sorted(places):
            raise not_continuable(
                "the template writes a tool's result into the model's own turn, or writes it differently "
                "after another history"
            )
        between = tail[: places[0]]
        ends = {id: between.find(end) for id, end in self.ends.items()}
        ends = {id: place for id, place in ends.items() if place >= 0}
        if not ends:
            raise not_continuable("the template ends turns with a token that does not end model output")
        text, start = texts[history], len(texts[history]) - len(tail)
        by_end = {id: text[: start + place + len(self.ends[id])] for id, place in ends.items()}
        return _Head(by_end, text[: start + min(ends.values())])

    def _conversation(
        self, shape: tuple[tuple[str, str], ...], history: int, contents: Sequence[str]
    ) -> list[Message]:
        calls = [name or self._first_name or "" for role, name in shape if role == "tool"]
        messages = _history(history, calls, self._first_name)
        results = 0
        for (role, _), content in zip(shape, contents, strict=True):
            message: Message = {"role": role, "content": content}
            if role == "tool":
                message |= {"tool_call_id": _id(results), "name": calls[results]}
                results += 1
            messages.append(message)
        return messages

    def _text(self, messages: list[Message], *, generation: bool = True) -> str:
        return rendered(self.render, messages, self.tools or None, generation)


def choose_notation(render: Render) -> str:
    """The first notation that parses the tool calls which the template writes. Raises InvalidInput if none
    does.
    """
    user = {"role": "user", "content": f"{_MARK}u"}
    refusal: InvalidInput | None = None
    for calls in (_PROBE_CALLS, _PROBE_CALLS[:1]):
        try:
            opening = rendered(render, [user], [_TOOL], True)
            whole = rendered(render, [user, _assistant(calls)], [_TOOL], False)
        except InvalidInput as error:
            refusal = error
            continue
        text = whole[_common(opening, whole) :]
        for notation in NOTATIONS.values():
            read = notation.read(text, [_TOOL]).calls
            if [(call.name, call.arguments) for call in read] == calls:
                return notation.name
        refusal = None
    raise refusal or not_continuable("the template writes tool calls in a notation that is not supported")


def rendered(render: Render, messages: list[Message], tools: Tools | None, generation: bool) -> str:
    try:
        return render(messages, tools, generation)
    except Exception as error:
        if isinstance(error, InvalidInput) and error.code == "tools_not_supported":
            raise not_continuable("the template has no place for tools") from error
        reason = str(error)[:300].rstrip(".")
        what = "with tool calls" if tools else "of several turns"
        raise not_continuable(f"the template refuses a conversation {what}: {reason}") from error


class NotContinuable(InvalidInput):
    def __init__(self, reason: str, *, what: str, hint: str, param: str) -> None:
        message = f"The model's chat template cannot continue {what}: {reason}."
        super().__init__(
            message, code=CODE, hint=f"docs/tools.md lists the templates that can. {hint}", param=param
        )
        self.reason = reason


def not_continuable(reason: str) -> NotContinuable:
    hint = "Use another model, or an environment with a single turn."
    return NotContinuable(reason, what="a conversation with tools", hint=hint, param="environment.type")


def reply_not_continuable(reason: str) -> NotContinuable:
    hint = "Use another model, or remove `reply`."
    return NotContinuable(reason, what="an answer with a user's reply", hint=hint, param="environment.reply")


# ── Fixed conversations ────────────────────────────────────────────────────────────────────────────────────


_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look up.",
        "parameters": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "Text."},
                "count": {"type": "integer", "description": "Count."},
                "exact": {"type": "boolean", "description": "Exact."},
                "tags": {"type": "array", "items": {"type": "string"}, "description": "Tags."},
            },
            "required": ["text"],
        },
    },
}
_PROBE_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("look_up", {"text": 'a "b"', "count": 3, "exact": True, "tags": ["x", "y"]}),
    ("look_up", {"text": "12"}),
]


def _history(number: int, calls: Sequence[str], name: str | None) -> list[Message]:
    """One of three histories that end with a turn of the model; they differ in length, texts and reasoning.
    name: a tool's, if there is one.
    """
    if number == 0:
        return [{"role": "user", "content": "x"}, _turn(calls, 1)]
    if number == 1:
        old: list[Message] = [{"role": "assistant", "content": "Seven"}, {"role": "user", "content": "old"}]
        if name is not None:
            result = {"role": "tool", "tool_call_id": _id(0), "name": name, "content": "old"}
            old = [_turn([name], 7), result]
        last = _turn(calls, 22)
        # Templates that write a text beside calls elsewhere than the model did cannot continue its turn.
        last["content"] = last["content"] or "C\nC"
        return [{"role": "user", "content": "zz"}, *old, last]
    return [
        {"role": "user", "content": "First."},
        {"role": "assistant", "content": "Answer."},
        {"role": "user", "content": "Second?"},
        _turn(calls, 333) | {"reasoning_content": "Because."},
    ]


def _turn(calls: Sequence[str], value: int) -> Message:
    if not calls:
        return {"role": "assistant", "content": f"Number {value}"}
    return _assistant([(call, {"a": value}) for call in calls])


def _assistant(calls: Sequence[tuple[str, dict[str, Any]]]) -> Message:
    entries = [
        {"id": _id(place), "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": "", "tool_calls": entries}


def _id(place: int) -> str:
    return f"call{place:05d}"  # nine characters, which Mistral's templates want


def _common(first: str, second: str) -> int:
    pairs = zip(first, second, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _shape(messages: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    return tuple((str(message["role"]), str(message.get("name") or "")) for message in messages)


def _name(tool: dict[str, Any]) -> str:
    return str(tool["function"]["name"])

"""Streams a completion's text in pieces that never change later."""

from collections.abc import Callable, Sequence

from reinforge.tool_calls import NOTATIONS
from worker.rollout.text import Text
from worker.serving_client.protocol import ServingRequest

_INCOMPLETE = "\ufffd"
_WINDOW = 32
_GIVE_UP = 256

Decode = Callable[[Sequence[int]], str]


def decoding(request: ServingRequest, text: Text) -> Callable[[Sequence[Sequence[int]]], list[str]]:
    """Decoder of completions, including special tokens if the notation of tool calls needs them."""
    notation = NOTATIONS.get(request.notation or "")
    return text.raw if notation is not None and notation.special_tokens else text.completions


class BatchDecoder:
    """Decodes tokens to text; the rows passed to `load` are decoded in one batch."""

    def __init__(self, decode: Callable[[Sequence[Sequence[int]]], list[str]]) -> None:
        self._decode = decode
        self._texts: dict[tuple[int, ...], str] = {}

    def load(self, rows: Sequence[Sequence[int]]) -> None:
        self._texts = {}
        if distinct := list(dict.fromkeys(tuple(row) for row in rows)):
            self._texts = dict(zip(distinct, self._decode(distinct), strict=True))

    def __call__(self, tokens: Sequence[int]) -> str:
        text = self._texts.get(tuple(tokens))
        return self._decode([tokens])[0] if text is None else text


class Detokenizer:
    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._start = 0
        self._whole = 0
        self._emitted = 0

    def window(self, tokens: Sequence[int]) -> Sequence[int]:
        return tokens[self._start :]

    def push(self, tokens: Sequence[int]) -> str:
        text = self._decode(self.window(tokens))
        certain = text.rstrip(_INCOMPLETE)
        if len(tokens) - self._start > _GIVE_UP:
            certain = text
        piece = certain[self._emitted :]
        self._emitted = max(self._emitted, len(certain))
        if certain == text and len(tokens) - self._whole >= _WINDOW:
            self._start, self._whole = self._whole, len(tokens)
            self._emitted = len(self._decode(tokens[self._start :]))
        return piece


class TextStream:
    """Streams a completion in whole characters, up to and excluding the first stop string."""

    def __init__(self, decode: Decode, stop: Sequence[str] = ()) -> None:
        self._decode, self._stop = decode, tuple(stop)
        self._detokenizer = Detokenizer(decode)
        self._held = ""
        self.text = ""
        self.stopped = False

    def windows(self, tokens: Sequence[int], *, last: bool) -> list[Sequence[int]]:
        return [] if self.stopped else [self._detokenizer.window(tokens), *([tokens] if last else [])]

    def push(self, tokens: Sequence[int]) -> str:
        if self.stopped:
            return ""
        candidate = self._held + self._detokenizer.push(tokens)
        place = self._find_stop(candidate)
        if place is not None:
            self.stopped = True
            return self._give(candidate[:place])
        held = self._beginning_of_stop(candidate)
        self._held = candidate[len(candidate) - held :]
        return self._give(candidate[: len(candidate) - held])

    def finish(self, tokens: Sequence[int]) -> str:
        rest = self.push(tokens)
        if self.stopped:
            return rest
        whole = self._decode(tokens)
        if not whole.startswith(self.text):  # the tokenizer's decoding looks far back: use the full text
            self.text, self._held = whole, ""
            return rest
        tail = whole[len(self.text) :]
        place = self._find_stop(tail)
        if place is not None:
            self.stopped = True
            tail = tail[:place]
        return rest + self._give(tail)

    def _give(self, piece: str) -> str:
        self.text += piece
        return piece

    def _find_stop(self, text: str) -> int | None:
        places = [place for stop in self._stop if (place := text.find(stop)) >= 0]
        return min(places, default=None)

    def _beginning_of_stop(self, text: str) -> int:
        longest = max((len(stop) for stop in self._stop), default=1) - 1
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stop):
                return length
        return 0

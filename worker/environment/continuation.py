"""Tokens between the turns of a conversation with tools, written by the model's own chat template."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from reinforge.tool_calls import AssistantMessage, first_call, read, read_without_calls

Message = dict[str, Any]
NewMessages = tuple[Sequence[Message], int | None]
"""Messages that follow a turn, and the turn's last token if it is a stop token."""


class TemplateProcess(Protocol):
    """A process that renders the model's chat template, such as `FolderText`."""

    def prove_continuation(
        self, tools: list[dict[str, Any]], stop_ids: Sequence[int], *, reply: bool
    ) -> dict[str, Any]: ...

    def suffixes(
        self, tools: list[dict[str, Any]], stop_ids: Sequence[int], turns: Sequence[NewMessages]
    ) -> list[list[int]]: ...


@dataclass(frozen=True, slots=True)
class Continuation:
    """Computes the tokens between turns, for one model and one set of tools.

    The next prompt is the last prompt, the sampled tokens with the token that ended the turn, and the suffix,
    which ends where the model's next turn begins.
    """

    process: TemplateProcess
    tools: list[dict[str, Any]]
    stop_ids: tuple[int, ...]
    notation: str
    """Notation of the model's tool calls; "" without tools."""
    parallel_calls: bool
    """Whether a turn may have several calls; else only the first one can be answered."""
    reply: bool
    """Whether a user's reply may follow an answer."""

    @classmethod
    def prove(
        cls,
        process: TemplateProcess,
        tools: list[dict[str, Any]],
        stop_ids: Sequence[int],
        *,
        reply: bool = False,
    ) -> "Continuation":
        """Check that the chat template can continue conversations. Raises JobFailure
        `template_not_continuable`.

        reply: whether a user's reply must be possible.
        """
        facts = process.prove_continuation(tools, stop_ids, reply=reply)
        return cls(process, tools, tuple(stop_ids), **facts)

    def suffix_ids(self, messages: Sequence[Message], ended_by: int | None) -> tuple[int, ...]:
        """Token ids that follow a turn: call results in the order of the calls, a user's reply, or both.

        messages: {"role": "tool", "name", "content"}, {"role": "user", "content"}; this method adds call ids.
        ended_by: the sampled turn's last token, if it is one of `stop_ids`.
        """
        return self.suffixes([(messages, ended_by)])[0]

    def suffixes(self, turns: Sequence[NewMessages]) -> list[tuple[int, ...]]:
        """Suffixes of many turns, with one request to the process."""
        rows = self.process.suffixes(self.tools, self.stop_ids, turns) if turns else []
        return [tuple(ids) for ids in rows]

    def read(self, text: str) -> AssistantMessage:
        """Parse the text of a turn, including special tokens (`Text.raw`)."""
        return read(text, self.notation, self.tools) if self.notation else read_without_calls(text)

    def first_call(self, text: str) -> tuple[int, int] | None:
        """Character positions (start, end) of the turn's first call, without its opening mark."""
        return first_call(text, self.notation) if self.notation else None

"""Tokens between the turns of a conversation with tools, written by the model's own chat template."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from reinforge.tool_calls import AssistantMessage, first_call, read, read_without_calls

Message = dict[str, Any]
NewMessages = tuple[Sequence[Message], int | None]
"""Messages that follow a turn, and the turn's last token if it is a stop token."""


class TemplateProcess(Protocol):
    """A process that runs the model's template: `FolderText`."""

    def prove_continuation(
        self, tools: list[dict[str, Any]], stop_ids: Sequence[int], *, reply: bool
    ) -> dict[str, Any]: ...

    def suffixes(
        self, tools: list[dict[str, Any]], stop_ids: Sequence[int], turns: Sequence[NewMessages]
    ) -> list[list[int]]: ...


@dataclass(frozen=True, slots=True)
class Continuation:
    """How conversations with one set of tools continue: ids(t + 1) = ids(t) + sampled + suffix.

    The sampled ids include the token that ended the turn. The suffix ends where the model's next turn begins.
    """

    process: TemplateProcess
    tools: list[dict[str, Any]]
    stop_ids: tuple[int, ...]
    notation: str
    """Notation of tool calls; "" without tools."""
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
        """Prove the template. Raises JobFailure `template_not_continuable`.

        reply: whether a user's reply has to be possible.
        """
        facts = process.prove_continuation(tools, stop_ids, reply=reply)
        return cls(process, tools, tuple(stop_ids), **facts)

    def suffix_ids(self, messages: Sequence[Message], ended_by: int | None) -> tuple[int, ...]:
        """Token ids that follow a turn: the results of its calls in order, a user's reply, or both.

        messages: {"role": "tool", "name", "content"}, {"role": "user", "content"}; ids of calls are set here.
        ended_by: the sampled turn's last token, if it is one of `stop_ids`.
        """
        return self.suffixes([(messages, ended_by)])[0]

    def suffixes(self, turns: Sequence[NewMessages]) -> list[tuple[int, ...]]:
        """Suffixes of many turns by one request to the process."""
        rows = self.process.suffixes(self.tools, self.stop_ids, turns) if turns else []
        return [tuple(ids) for ids in rows]

    def read(self, text: str) -> AssistantMessage:
        """Read a turn, decoded with special tokens (`Text.raw`)."""
        return read(text, self.notation, self.tools) if self.notation else read_without_calls(text)

    def first_call(self, text: str) -> tuple[int, int] | None:
        """Start and end, in characters, of the turn's first call after its opening mark."""
        return first_call(text, self.notation) if self.notation else None

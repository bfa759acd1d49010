"""Guesses the columns of prompt and answer, by name, then by content."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from reinforge.dataset.columns import ColumnRoles

REQUIRED_PROMPT_NAMES = ("question", "problem", "instruction", "query")
PROMPT_NAMES = (*REQUIRED_PROMPT_NAMES, "input")
ANSWER_NAMES = ("answer", "target", "solution", "label", "output", "expected", "result", "total")
_OTHER_NAMES = frozenset(
    {"id", "index", "uuid", "source", "split", "category", "difficulty", "level", "slice"}
)
_TEXT_TYPES = ("string", "mixed")


def suggest_columns(
    columns: Sequence[Mapping[str, Any]], preview: Sequence[Mapping[str, Any]], declared: ColumnRoles
) -> ColumnRoles | None:
    types = {str(column["name"]): str(column["type"]) for column in columns}
    has_prompt = bool({"messages", "prompt"} & types.keys() or declared.prompt or declared.messages)
    messages = None if has_prompt else _messages_column(types, preview)
    prompt = None
    if not has_prompt and messages is None:
        texts = [name for name, type in types.items() if type in _TEXT_TYPES]
        prompt = named(texts, PROMPT_NAMES) or _longest(
            [name for name in texts if named([name], ANSWER_NAMES) is None], preview
        )
    answer = None
    if declared.answer is None and "answer" not in types:
        taken = {prompt, messages, declared.prompt, declared.messages, "prompt", "messages", "tools"}
        others = [name for name in types if name not in taken and name.casefold() not in _OTHER_NAMES]
        answer = named(others, ANSWER_NAMES) or (others[0] if len(others) == 1 else None)
    return (
        ColumnRoles(prompt=prompt, messages=messages, answer=answer) if prompt or messages or answer else None
    )


def named(columns: Collection[str], names: Sequence[str]) -> str | None:
    """The column whose name is the earliest match in `names`, ignoring case."""
    by_name = {column.strip().casefold(): column for column in reversed(list(columns))}
    return next((by_name[name] for name in names if name in by_name), None)


def _messages_column(types: Mapping[str, str], preview: Sequence[Mapping[str, Any]]) -> str | None:
    lists = [name for name, type in types.items() if type == "list"]
    return next((name for name in lists if preview and all(_is_chat(row.get(name)) for row in preview)), None)


def _is_chat(value: Any) -> bool:
    messages = value if isinstance(value, list) else []
    return bool(messages) and all(isinstance(message, dict) and "role" in message for message in messages)


def _longest(names: Sequence[str], preview: Sequence[Mapping[str, Any]]) -> str | None:
    lengths = {name: sum(len(str(row.get(name) or "")) for row in preview) for name in names}
    longest = sorted(lengths, key=lambda name: lengths[name], reverse=True)
    if not longest or (len(longest) > 1 and lengths[longest[0]] < 2 * lengths[longest[1]]):
        return None
    return longest[0]

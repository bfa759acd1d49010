"""Conversion of a row to the chat messages of its prompt."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from reinforge.dataset.columns import ColumnRoles
from reinforge.dataset.errors import DatasetError, DatasetTooLarge, Path
from reinforge.dataset.rows import Row

Message = dict[str, Any]

ROLES = ("system", "developer", "user", "assistant", "tool")
MOST_INSERTED = 16 * 1024**2
"""Maximum characters inserted into a template, since a template may repeat a large column."""
_NO_ROLES = ColumnRoles()
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    pieces: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `{column}` placeholders; `{{` and `}}` are braces. Raises DatasetError `invalid_template`."""
        pieces, literal, end = [], "", 0
        for match in _PIECE.finditer(text):
            literal += text[end : match.start()]
            end = match.end()
            if match[0] in ("{{", "}}"):
                literal += match[0][0]
            elif not match[1]:
                raise _invalid_template(text, match)
            else:
                pieces += [literal, match[1]]
                literal = ""
        return cls((*pieces, literal + text[end:]))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.pieces[1::2]))

    def render(self, row: Row) -> str:
        """Inserts the row's columns, with lists and objects as JSON. Raises DatasetError `unknown_column` for
        a missing column, `missing_value` for null.
        """
        parts = list(self.pieces)
        size = 0
        for index in range(1, len(parts), 2):
            parts[index] = _inserted(row, parts[index])
            size += len(parts[index])
            if size > MOST_INSERTED:
                raise DatasetTooLarge(
                    f"The prompt of this row has more than {MOST_INSERTED:,} characters from its columns.",
                    code="prompt_too_long",
                    path=(self.pieces[index],),
                    hint="Insert a long column once.",
                )
        return "".join(parts)


def render_messages(
    row: Row,
    roles: ColumnRoles | None = None,
    template: str | PromptTemplate | None = None,
    system_prompt: str | None = None,
) -> list[Message]:
    """Messages of a row; `system_prompt` precedes those without a system or developer message."""
    messages = _own_messages(row, roles or _NO_ROLES, template)
    if system_prompt and messages[0]["role"] not in ("system", "developer"):
        messages.insert(0, {"role": "system", "content": system_prompt})
    return messages


def check_roles(
    columns: Collection[str], roles: ColumnRoles | None = None, template: str | PromptTemplate | None = None
) -> None:
    """Raises DatasetError if a role or the template names a missing column, or nothing gives the prompt."""
    roles = roles or _NO_ROLES
    for part in ("prompt", "messages", "answer", "slice"):
        name = getattr(roles, part)
        if name is not None and name not in columns:
            raise unknown_column(name, columns, f"data.columns.{part}")
    if template is not None:
        for name in _parsed(template).columns:
            if name not in columns:
                raise unknown_column(name, columns, "data.prompt_template")
    elif roles.prompt is None and roles.messages is None and not {"messages", "prompt"} & set(columns):
        raise _missing_prompt(columns)


def unknown_column(name: str, columns: Collection[str], param: str | None = None) -> DatasetError:
    names = ", ".join(list(columns)[:30]) or "none"
    hint = f"Known columns: {names}."
    if any(mark in name for mark in ".[!:"):
        hint += " A placeholder names one whole column; attributes, indices and formats are not available."
    return DatasetError(f'There is no column "{name}".', code="unknown_column", hint=hint, param=param)


def _own_messages(row: Row, roles: ColumnRoles, template: str | PromptTemplate | None) -> list[Message]:
    if template is not None:
        text = _parsed(template).render(row)
        if not text.strip():
            raise _empty((), "The template gives an empty prompt for this row.")
        return [{"role": "user", "content": text}]
    column, has_text = roles.messages or roles.prompt, roles.messages is None
    if column is None:
        column = next((name for name in ("messages", "prompt") if row.get(name) is not None), None)
        has_text = column == "prompt"
        if column is None:
            null = next((name for name in ("messages", "prompt") if name in row), None)
            raise _missing_prompt(row) if null is None else _empty((null,), f'"{null}" is null in this row.')
    elif column not in row:
        raise unknown_column(column, row)
    value = row[column]
    if has_text and isinstance(value, str):
        if not value.strip():
            raise _empty((column,), f'"{column}" is empty.')
        return [{"role": "user", "content": value}]
    return _messages(value, column, text_allowed=has_text)


def _messages(value: Any, column: str, *, text_allowed: bool) -> list[Message]:
    if value is None:
        raise _empty((column,), f'"{column}" is null in this row.')
    if not isinstance(value, list):
        what = "text or a list of messages" if text_allowed else "a list of messages"
        hint = '"messages" is a list such as [{"role": "user", "content": "…"}].'
        if isinstance(value, str):
            hint += " For plain text name the column prompt, or give it the role prompt."
        raise _wrong((column,), f'"{column}" has to be {what}, not {_kind(value)}.', hint)
    if not value:
        raise _empty((column,), f'"{column}" is an empty list.')
    messages = [_message(item, (column, index)) for index, item in enumerate(value)]
    last, at = messages[-1], (column, len(messages) - 1)
    if last["role"] not in ("user", "tool"):
        raise DatasetError(
            f"The last message is from the {last['role']}, but the policy can only answer a user or a tool.",
            code="last_message",
            path=at,
            hint="Move the expected answer to a column such as answer; rewards read it as item.answer.",
        )
    if last["role"] != "tool" and not last["content"].strip():  # a tool may have nothing to say
        raise _empty((*at, "content"), "The last message is empty.")
    return messages


def _message(value: Any, path: Path) -> Message:
    if not isinstance(value, dict):
        raise _wrong(
            path,
            f"A message has to be an object, not {_kind(value)}.",
            'Write it as {"role": …, "content": …}.',
        )
    role = value.get("role")
    if role not in ROLES:
        message = "A message has no role." if role is None else f"{json.dumps(role)[:80]} is not a role."
        at = (*path, "role") if "role" in value else path
        raise DatasetError(message, code="unknown_role", path=at, hint=f"Roles: {', '.join(ROLES)}.")
    content = value.get("content")
    if content is None and role == "assistant" and value.get("tool_calls"):
        content = ""
    rest = {key: item for key, item in value.items() if item is not None and key not in ("role", "content")}
    return {"role": role, "content": _text(content, (*path, "content"), in_row="content" in value)} | rest


def _text(content: Any, path: Path, *, in_row: bool) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        what = _kind(content) if in_row else "missing"
        raise _wrong(
            path,
            f"The content of a message is {what}; it has to be text.",
            "Write text, or a list of text parts.",
        )
    texts = []
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in ("text", "input_text"):
            message = f"A content part of type {json.dumps(kind)[:80]} cannot be used; only text can."
            hint = 'Text parts look like {"type": "text", "text": "…"}.'
            raise DatasetError(message, code="unsupported_content", path=(*path, index), hint=hint)
        if not isinstance(part.get("text"), str):
            at = (*path, index, "text")
            raise _wrong(at, f"The text of a part is {_kind(part.get('text'))}.", "It has to be a string.")
        texts.append(part["text"])
    return "\n".join(texts)


def _inserted(row: Row, column: str) -> str:
    if column not in row:
        raise unknown_column(column, row)
    value = row[column]
    if value is None:
        message = f'The template uses "{column}", which is null in this row.'
        hint = "Fill it in, drop the row or use another column."
        raise DatasetError(message, code="missing_value", path=(column,), hint=hint)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=64)
def _parse_cached(template: str) -> PromptTemplate:
    return PromptTemplate.parse(template)


def _parsed(template: str | PromptTemplate) -> PromptTemplate:
    return _parse_cached(template) if isinstance(template, str) else template


def _invalid_template(text: str, match: re.Match[str]) -> DatasetError:
    what = "an empty placeholder {}" if match[0] == "{}" else f"a single {match[0]}"
    return DatasetError(
        f"The prompt template has {what} at character {match.start() + 1}.",
        code="invalid_template",
        column=match.start() + 1,
        hint="Placeholders are {column}. Write {{ and }} for braces, as in \\boxed{{}}.",
        text=text,
        param="data.prompt_template",
    )


def _missing_prompt(columns: Collection[str]) -> DatasetError:
    names = ", ".join(list(columns)[:30]) or "none"
    return DatasetError(
        'There is neither a "messages" nor a "prompt" column.',
        code="missing_prompt",
        hint="Name the prompt's column (`data.columns.prompt` in a job file, `--column prompt=NAME` for a command) or "
        f"give a template (`data.prompt_template`, `--prompt-template`). Known columns: {names}.",
        param="data.columns",
    )


def _empty(path: Path, message: str) -> DatasetError:
    return DatasetError(message, code="empty_prompt", path=path, hint="Fill it in or drop the row.")


def _wrong(path: Path, message: str, hint: str) -> DatasetError:
    return DatasetError(message, code="wrong_type", path=path, hint=hint)


def _kind(value: Any) -> str:
    names = {str: "text", list: "a list", dict: "an object", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")

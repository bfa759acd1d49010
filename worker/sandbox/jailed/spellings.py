"""The three conventions of Python rewards (OpenAI, Predibase, TRL), recognised by the function's signature."""

import asyncio
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .values import as_list

OPENAI, PREDIBASE, TRL = "openai", "predibase", "trl"
SPELLINGS = (OPENAI, PREDIBASE, TRL)

MODULE_NAME = "reward"
_EXPECTED = (
    "grade(sample, item), reward_fn(prompt, completion, example) or f(prompts, completions, **columns)"
)

Row = Mapping[str, Any]


class NoReward(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    spelling: str
    function: Callable[..., object]
    columns: frozenset[str] | None = None
    required: frozenset[str] = frozenset()


def find_entries(namespace: Mapping[str, object]) -> list[Entry]:
    entries = []
    for name, value in namespace.items():
        if name.startswith("_") or getattr(value, "__module__", None) != MODULE_NAME:
            continue
        if callable(value) and not isinstance(value, type):
            entry = _read(name, value, named=name in ("grade", "reward_fn"))
            if entry is not None:
                entries.append(entry)
    return entries


def choose_entry(namespace: Mapping[str, object], name: str | None) -> Entry:
    if name is not None:
        if name not in namespace:
            raise NoReward(f"the module does not define {name}(); write {_EXPECTED}")
        value = namespace[name]
        if not callable(value):
            raise NoReward(f"{name} is {type(value).__name__[:80]}, not a function")
        entry = _read(name, value, named=True)
        if entry is None:
            raise NoReward(f"{name}() does not take the parameters of a reward: {_EXPECTED}")
        return entry
    entries = find_entries(namespace)
    for entry in entries:
        if entry.name == "grade":
            return entry
    if len(entries) > 1:
        raise NoReward(
            "several functions can score: " + ", ".join(e.name for e in entries) + "; name one of them"
        )
    if not entries:
        if callable(namespace.get("grade")):
            raise NoReward("grade() does not take the parameters (sample, item)")
        raise NoReward(_no_entry(namespace))
    return entries[0]


def _no_entry(namespace: Mapping[str, object]) -> str:
    functions = [
        (name, value)
        for name, value in namespace.items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == MODULE_NAME
        and callable(value)
        and not isinstance(value, type)
    ]
    if not functions:
        return f"the module defines no reward function; write {_EXPECTED}"
    name, value = functions[-1]
    try:
        parameters = ", ".join(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        parameters = "…"
    return f"{name}({parameters})"[:200] + f" does not take the parameters of a reward; write {_EXPECTED}"


def invoke(entry: Entry, rows: Sequence[Row], *, single: bool) -> list[object]:
    if entry.spelling == TRL:
        return as_list(_settle(entry.function(**_trl_arguments(entry, rows))), len(rows))
    arguments = [
        _openai_arguments(row) if entry.spelling == OPENAI else _predibase_arguments(row) for row in rows
    ]
    if single:
        return [_settle(entry.function(*arguments[0]))]
    columns = [list(column) for column in zip(*arguments, strict=True)]
    return as_list(_settle(entry.function(*columns)), len(rows))


def _read(name: str, value: Callable[..., object], *, named: bool) -> Entry | None:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = inspect.Parameter
    by_name = {p.name for p in parameters if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
    if "completions" in by_name:
        open_ended = any(p.kind is kinds.VAR_KEYWORD for p in parameters)
        required = frozenset(p.name for p in parameters if p.name in by_name and p.default is kinds.empty)
        return Entry(name, TRL, value, None if open_ended else frozenset(by_name), required)
    positional = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is kinds.KEYWORD_ONLY and p.default is kinds.empty for p in parameters):
        return None
    needed = [p.name for p in positional if p.default is kinds.empty]
    open_arguments = any(p.kind is kinds.VAR_POSITIONAL for p in parameters)
    for spelling, names in ((OPENAI, ["sample", "item"]), (PREDIBASE, ["prompt", "completion", "example"])):
        fits = len(needed) == len(names) or (
            open_arguments and len(needed) < len(names) and spelling == OPENAI
        )
        if needed == names or (named and fits):
            return Entry(name, spelling, value)
    return None


def _settle(value: object) -> object:
    if not inspect.isawaitable(value):
        return value
    with asyncio.Runner() as runner:
        return runner.run(_await(value))


async def _await(value: Awaitable[object]) -> object:
    return await value


def _openai_arguments(row: Row) -> tuple[object, ...]:
    completion: str = row["completion"]
    message = {"role": "assistant", "content": completion}
    sample: dict[str, object] = {
        "output_text": completion,
        "output_json": _json_or_none(completion),
        "output_tools": [],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "judges": row.get("judges") or {},
    }
    sample.update(row.get("sample") or {})
    return sample, row["item"]


def _json_or_none(text: str) -> object:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _predibase_arguments(row: Row) -> tuple[object, ...]:
    prompt = row["prompt"]
    if isinstance(prompt, list):
        contents = [str(m.get("content", "")) for m in prompt]
        roles = [str(m.get("role", "")) for m in prompt]
        prompt = contents[0] if len(contents) == 1 else "\n".join(map("{}: {}".format, roles, contents))
    example = {key: value if isinstance(value, str) else str(value) for key, value in row["item"].items()}
    return prompt, row["completion"], example


def _trl_completion(row: Row) -> object:
    prompt = row["prompt"]
    if not isinstance(prompt, list):
        return row["completion"]
    messages = (row.get("sample") or {}).get("messages")
    if messages is not None:  # a conversation: everything after the prompt
        return messages[len(prompt) :]
    return [{"role": "assistant", "content": row["completion"]}]


def _trl_arguments(entry: Entry, rows: Sequence[Row]) -> dict[str, object]:
    columns: dict[str, object] = {}
    for name in dict.fromkeys(key for row in rows for key in (*row["item"], *(row.get("sample") or {}))):
        columns[name] = [row["item"].get(name, (row.get("sample") or {}).get(name)) for row in rows]
    if any(row.get("judges") for row in rows):
        columns["judges"] = [row.get("judges") or {} for row in rows]
    columns["prompts"] = [row["prompt"] for row in rows]
    columns["completions"] = [_trl_completion(row) for row in rows]
    has = ", ".join(sorted(columns))
    columns |= {"trainer_state": None, "log_metric": _log_metric, "log_extra": _log_extra}
    missing = sorted(entry.required - columns.keys())
    if missing:
        raise TypeError(f"{entry.name}() needs the column {missing[0]!r}; the row has {has}")
    return {name: v for name, v in columns.items() if entry.columns is None or name in entry.columns}


def _log_metric(name: str, value: object) -> None:
    sys.stdout.write(f"{name}: {value}\n")


def _log_extra(column: str, values: Sequence[object]) -> None:
    sys.stdout.write(f"{column}: {list(values)}\n")

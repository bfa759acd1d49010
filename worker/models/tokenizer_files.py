"""Reads chat template, special tokens and stop tokens from a model's files."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reinforge.errors import InvalidInput


@dataclass(frozen=True)
class ChatTemplate:
    text: str
    source: str


def read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        # Other errors quote the file.
        text = f"{error}" if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise InvalidInput(
            f"{path.name} cannot be read as JSON: {text}.",
            code="damaged_model",
            hint="Copy the file again.",
            param="source",
        ) from error
    return value if isinstance(value, dict) else {}


def chat_template(folder: Path, *, tools: bool = False) -> ChatTemplate | None:
    """The model's default template, or its template for tools. chat_template.jinja takes precedence over
    tokenizer_config.json.
    """
    apart = folder / "additional_chat_templates" / "tool_use.jinja"
    if tools and apart.is_file():
        return ChatTemplate(apart.read_text(encoding="utf-8"), f"{apart.parent.name}/{apart.name}")
    separate = folder / "chat_template.jinja"
    if separate.is_file():
        return ChatTemplate(separate.read_text(encoding="utf-8"), separate.name)
    template = read_json(folder / "tokenizer_config.json").get("chat_template")
    if isinstance(template, list):  # several, by name
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = (named.get("tool_use") if tools else None) or named.get("default")
    return ChatTemplate(template, "tokenizer_config.json") if isinstance(template, str) else None


def stop_ids(folder: Path) -> list[int]:
    """Ids of the tokens that end the model's output, from its configuration files."""
    ids: set[int] = set()
    for name in ("config.json", "generation_config.json"):
        value = read_json(folder / name).get("eos_token_id")
        ids.update(id for id in (value if isinstance(value, list) else [value]) if isinstance(id, int))
    return sorted(ids)


def special_tokens(folder: Path) -> dict[str, str]:
    config = read_json(folder / "special_tokens_map.json") | read_json(folder / "tokenizer_config.json")
    extra = config.get("extra_special_tokens")
    candidates = {key: value for key, value in config.items() if key.endswith("_token")}
    candidates |= extra if isinstance(extra, dict) else {}
    tokens = {}
    for name, value in candidates.items():
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            tokens[name] = text
    return tokens

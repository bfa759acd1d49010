"""Reads sizes from a model's `config.json`, whose keys depend on the architecture."""

import json
from pathlib import Path
from typing import Any

_HIDDEN_KEYS = ("hidden_size", "n_embd", "n_embed", "d_model", "model_dim")


def whole_number(config: dict[str, Any], keys: tuple[str, ...]) -> int | None:
    """Integer under the first such key of `keys` in `config`, else in its `text_config`; None without one."""
    nested = config.get("text_config")
    for part in (config, nested if isinstance(nested, dict) else {}):
        for key in keys:
            if isinstance(part.get(key), int):
                return int(part[key])
    return None


def hidden_size(config: dict[str, Any]) -> int | None:
    size = whole_number(config, _HIDDEN_KEYS)
    return size if size is not None and size > 0 else None


def read_hidden_size(folder: Path) -> int | None:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return hidden_size(config) if isinstance(config, dict) else None

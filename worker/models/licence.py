"""Finds a model's licence in its card or LICENSE file."""

from pathlib import Path

import yaml

_TITLES = (
    ("Apache License", "apache-2.0"),
    ("MIT License", "mit"),
    ("GNU GENERAL PUBLIC LICENSE", "gpl"),
    ("LLAMA", "llama"),
    ("Gemma Terms", "gemma"),
)
_HEAD = 65_536


def find_licence(folder: Path) -> str | None:
    return _from_card(folder / "README.md") or _from_text(folder)


def _from_card(card: Path) -> str | None:
    if not card.is_file():
        return None
    text = card.read_text(encoding="utf-8", errors="replace")[:_HEAD]
    if not text.startswith("---"):
        return None
    try:
        fields = yaml.safe_load(text.split("\n---", 1)[0].removeprefix("---"))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None  # a card is prose; its licence is then unknown, not wrong
    if not isinstance(fields, dict):
        return None
    licence = fields.get("license")
    if licence == "other":
        licence = fields.get("license_name") or licence
    if isinstance(licence, list):
        licence = ", ".join(name for name in licence if isinstance(name, str))
    return licence if isinstance(licence, str) and licence else None


def _from_text(folder: Path) -> str | None:
    for path in sorted(folder.glob("LICENSE*")):
        head = path.read_text(encoding="utf-8", errors="replace")[:2000]
        for title, name in _TITLES:
            if title in head:
                return name
        return next((line.strip()[:100] for line in head.splitlines() if line.strip()), None)
    return None

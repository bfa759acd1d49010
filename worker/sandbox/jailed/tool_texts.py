"""Strings that models read as results of tool calls, for the jail and its client; runs no untrusted code."""

import hashlib
import re

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LONGEST_MARK = 256


def clean(text: str) -> str:
    """Text without control characters, which neither tokenizers nor databases accept."""
    return text if text.isprintable() else _CONTROL.sub(" ", text)


def shortened(text: str, most: int) -> str:
    """Text of at most `most` characters; in a longer one, a note replaces the middle."""
    if len(text) <= most:
        return text
    note = f"\n[… {len(text) - most} characters left out …]\n"
    if most <= 2 * len(note):
        return text[:most]
    head = (most - len(note)) // 2
    return text[:head] + note + text[len(text) - (most - len(note) - head) :]


def mark(status: str, text: str) -> str:
    """Key that equal results of a repeated call share: status and text, or their hash if long."""
    if len(text) <= _LONGEST_MARK:
        return f"{status}={text}"
    return hashlib.sha256(f"{status}\n{text}".encode("utf-8", "replace")).hexdigest()

"""Dataset errors with 1-based line and column (in characters)."""

from typing import Any, Self

from reinforge.errors import InvalidInput, TooLarge

EXCERPT_CHARACTERS = 200

Path = tuple[str | int, ...]
"""Position inside a row: `("messages", 0, "content")`."""


class DatasetError(InvalidInput):
    """One fault of a dataset; `reinforge.dataset` lists the codes."""

    default_code = "invalid_dataset"

    def __init__(
        self,
        message: str,
        *,
        code: str,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
        text: str | None = None,
        path: Path = (),
        param: str | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint, param=param)
        self.path = path
        self.bad_rows: dict[int, int] = {}
        self.line: int | None = None
        self.column: int | None = None
        self.excerpt: str | None = None
        self.caret: int | None = None
        self.at(line, column, text)

    def at(self, line: int | None, column: int | None, text: str | None) -> Self:
        self.line, self.column = line, column
        if text is not None:
            self.excerpt, caret = excerpt(text, column or 1)
            self.caret = None if column is None else caret
        detail: dict[str, Any] = {"code": self.code, "message": self.message, "line": line, "column": column}
        self.errors = [detail | {"excerpt": self.excerpt, "caret": self.caret}]
        return self

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        place = f"line {self.line}" + (f", column {self.column}" if self.column is not None else "")
        return f"{place}: {self.message}"


class DatasetTooLarge(TooLarge, DatasetError):
    pass


def excerpt(text: str, column: int) -> tuple[str, int]:
    """At most `EXCERPT_CHARACTERS` of a text around a 1-based column, and the column's offset in them."""
    text = text.rstrip("\r\n")
    start = max(0, min(column - 1 - EXCERPT_CHARACTERS // 2, len(text) - EXCERPT_CHARACTERS))
    stop = start + EXCERPT_CHARACTERS
    before = ("…" if start else "") + visible(text[start : column - 1])
    after = visible(text[column - 1 : stop]) + ("…" if stop < len(text) else "")
    return before + after, len(before)


def visible(text: str) -> str:
    r"""Escape control characters and lone surrogates (`\x00`)."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

"""Dataset errors with their location: line and column are 1-based, columns count characters."""

from typing import Any, Self

from reinforge.errors import InvalidInput, TooLarge

EXCERPT_CHARACTERS = 200
"""Longest piece of the offending line that is shown."""

Path = tuple[str | int, ...]
"""Where a value sits inside a row: `("messages", 0, "content")`."""


class DatasetError(InvalidInput):
    """One fault of a dataset. The codes are listed in `reinforge.dataset`.

    `line` is the line of the file (for Parquet, which has none, the row number); `column` the character in
    that line (None for Parquet). `excerpt` shows the line around the fault with invisible characters spelled
    out, and `excerpt[caret]` is the fault; of Parquet it shows the value as JSON and there is no caret. `path`
    says where inside the row it is, if the row was read.
    """

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
        self.line: int | None = None
        self.column: int | None = None
        self.excerpt: str | None = None
        self.caret: int | None = None
        self.at(line, column, text)

    def at(self, line: int | None, column: int | None, text: str | None) -> Self:
        """Say where it happened. `text` is the line (without limit of length) that `column` counts in."""
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
    """A limit was crossed; the limit is named in the message."""


def excerpt(text: str, column: int) -> tuple[str, int]:
    """At most `EXCERPT_CHARACTERS` of a line around a 1-based column, and the fault's offset in them."""
    text = text.rstrip("\r\n")
    start = max(0, min(column - 1 - EXCERPT_CHARACTERS // 2, len(text) - EXCERPT_CHARACTERS))
    stop = start + EXCERPT_CHARACTERS
    before = ("…" if start else "") + visible(text[start : column - 1])
    after = visible(text[column - 1 : stop]) + ("…" if stop < len(text) else "")
    return before + after, len(before)


def visible(text: str) -> str:
    r"""Control characters, lone surrogates and the like as escapes (`\x00`), so that they can be seen."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

"""Strict reader of text lines: UTF-8, no NUL, bounded length."""

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path

from reinforge.dataset.errors import DatasetError, DatasetTooLarge
from reinforge.dataset.limits import DatasetLimits, row_too_large

# UTF-32 first: its little-endian mark begins with UTF-16's.
FOREIGN_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32 (little endian)"),
    (codecs.BOM_UTF32_BE, "UTF-32 (big endian)"),
    (codecs.BOM_UTF16_LE, "UTF-16 (little endian)"),
    (codecs.BOM_UTF16_BE, "UTF-16 (big endian)"),
)
SAVE_AS_UTF8 = "Save the file as UTF-8, for example: iconv -f {name} -t UTF-8 old > new"


OnBadLine = Callable[[DatasetError, bytes], None]


def text_lines(
    path: Path, limits: DatasetLimits, on_bad_line: OnBadLine | None = None
) -> Iterator[tuple[int, str]]:
    """Yield (1-based line number, line with its line break), without a BOM. Raises DatasetError,
    DatasetTooLarge.
    """
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(limits.max_row_bytes + 1):
            number += 1
            if number == 1:
                _refuse_foreign_encoding(raw)
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                text = _decode(raw, number, limits)
            except DatasetTooLarge:
                raise
            except DatasetError as error:
                if on_bad_line is None:
                    raise
                on_bad_line(error, raw)
                continue
            yield number, text


def _decode(raw: bytes, number: int, limits: DatasetLimits) -> str:
    nul = raw.find(b"\0")
    try:
        text = raw[:nul].decode() if nul >= 0 else raw.decode()
    except UnicodeDecodeError as error:
        # A line that was cut off at the limit may end inside a character.
        if len(raw) <= limits.max_row_bytes or error.end < len(raw) - 3:
            raise _invalid_utf8(raw, error.start, number) from None
        text = raw[: error.start].decode()
    if nul >= 0:
        raise DatasetError(
            "There is a NUL byte in the text.",
            code="nul_byte",
            line=number,
            column=len(text) + 1,
            hint="The file is damaged or not text. To remove such bytes: tr -d '\\000' < old > new",
            text=text + raw[nul : nul + 400].decode(errors="replace"),
        )
    if len(raw) > limits.max_row_bytes:
        raise row_too_large(number, text, limits)
    return text


def _invalid_utf8(raw: bytes, start: int, number: int) -> DatasetError:
    before = raw[:start].decode()
    return DatasetError(
        f"Byte 0x{raw[start]:02x} is not valid UTF-8.",
        code="wrong_encoding",
        line=number,
        column=len(before) + 1,
        hint="The file mixes encodings or is not UTF-8. " + SAVE_AS_UTF8.format(name="WINDOWS-1252"),
        text=before + raw[start : start + 400].decode(errors="backslashreplace"),
    )


def _refuse_foreign_encoding(raw: bytes) -> None:
    name = next((name for mark, name in FOREIGN_MARKS if raw.startswith(mark)), None)
    head = raw[:8]
    if name is None and len(head) == 8:
        # ASCII written as UTF-16 without a mark: every other byte is 0.
        if not any(head[1::2]) and all(head[0::2]):
            name = "UTF-16 (little endian, no byte order mark)"
        elif not any(head[0::2]) and all(head[1::2]):
            name = "UTF-16 (big endian, no byte order mark)"
    if name is not None:
        raise DatasetError(
            f"The file is {name}; datasets are UTF-8.",
            code="wrong_encoding",
            line=1,
            column=1,
            hint=SAVE_AS_UTF8.format(name=name.split()[0]),
        )

"""Streaming multipart upload to a file."""

import contextlib
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import anyio.to_thread
from fastapi import Request
from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from reinforge.dataset.limits import readable
from reinforge.errors import InvalidInput, TooLarge
from reinforge.storage.base import disk_error, scratch_file

_MAX_FIELD_BYTES = 65_536
_MAX_PARTS = 20
_MAX_NAME = 255
_FILE = "file"
_ABANDONED_SECONDS = 86_400


@dataclass
class FileUpload:
    path: Path
    filename: str = ""
    bytes: int = 0
    sha256: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    def flag(self, name: str) -> bool:
        value = self.fields.get(name, "false").lower()
        if value not in ("true", "false"):
            raise InvalidInput(f"`{name}` is neither true nor false.", param=name)
        return value == "true"


@asynccontextmanager
async def receive(
    request: Request, folder: Path, limit: int, *, part: str = _FILE
) -> AsyncIterator[FileUpload]:
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit + _MAX_FIELD_BYTES:
        raise too_large(limit)
    _remove_abandoned(folder)
    with scratch_file(folder, "upload-") as file:
        parts = _Parts(file, limit, part)
        parser = MultipartParser(_boundary(request), parts.callbacks())  # type: ignore[arg-type]
        try:
            async for chunk in request.stream():
                parser.write(chunk)
                if parts.pending:
                    await anyio.to_thread.run_sync(parts.write_pending)
            parser.finalize()
            await anyio.to_thread.run_sync(file.flush)
        except MultipartParseError as error:
            raise _invalid(f"The upload is not valid multipart/form-data: {error}.") from error
        except OSError as error:
            raise disk_error(error) from error
        if not parts.complete:
            raise _invalid("The upload ends before its last part is complete.")
        if not parts.has_file:
            raise InvalidInput(
                f"The upload has no part called `{part}`.",
                code="missing_file",
                param=part,
                hint=f"Use curl -F {part}=@FILE, `reinforge dataset push` or `reinforge adapter upload`.",
            )
        yield FileUpload(Path(file.name), parts.filename, parts.bytes, parts.digest.hexdigest(), parts.fields)


def _remove_abandoned(folder: Path) -> None:
    for path in folder.glob("upload-*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                path.unlink()


def too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The file is larger than {readable(limit)}, the limit.",
        code="file_too_large",
        param=_FILE,
        hint="Split the file, or sample it: training sees prompts_per_step x steps rows.",
    )


class _Parts:
    def __init__(self, file: IO[bytes], limit: int, part: str) -> None:
        self._file, self._limit, self._part = file, limit, part
        self._header_name = b""
        self._header_value = b""
        self._disposition = b""
        self._name: str | None = None
        self._in_file = False
        self._value = bytearray()
        self._count = 0
        self.pending: list[bytes] = []
        self.digest = hashlib.sha256()
        self.bytes = 0
        self.fields: dict[str, str] = {}
        self.filename = ""
        self.has_file = False
        self.complete = False

    def callbacks(self) -> dict[str, object]:
        names = ("part_begin", "part_data", "part_end", "header_field", "header_value", "header_end")
        callbacks = {f"on_{name}": getattr(self, name) for name in names}
        return callbacks | {"on_headers_finished": self.headers_finished, "on_end": self.end}

    def write_pending(self) -> None:
        for data in self.pending:
            self.digest.update(data)
            self._file.write(data)
        self.pending.clear()

    def part_begin(self) -> None:
        self._count += 1
        if self._count > _MAX_PARTS:
            raise _invalid(f"The upload has more than {_MAX_PARTS} parts.")
        self._disposition = b""
        self._name, self._in_file = None, False
        self._value.clear()

    def header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]
        self._bound(self._header_name)

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]
        self._bound(self._header_value)

    def header_end(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = self._header_value
        self._header_name = self._header_value = b""

    def headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = _text(options.get(b"name", b""))
        if b"filename" in options and self._name == self._part:
            if self.has_file:
                raise _invalid(f"The upload has two parts called `{self._part}`.")
            name = _text(options[b"filename"]).replace("%22", '"')  # browsers escape quotes, and nothing else
            self.filename = Path(name).name[:_MAX_NAME] or "dataset"
            self.has_file = self._in_file = True

    def part_data(self, data: bytes, start: int, end: int) -> None:
        if not self._in_file:
            self._value += data[start:end]
            self._bound(self._value)
            return
        self.bytes += end - start
        if self.bytes > self._limit:
            raise too_large(self._limit)
        self.pending.append(data[start:end])

    def part_end(self) -> None:
        if not self._in_file and self._name:
            self.fields[self._name] = _text(bytes(self._value))

    def end(self) -> None:
        self.complete = True

    def _bound(self, data: bytes | bytearray) -> None:
        if len(data) > _MAX_FIELD_BYTES:
            raise _invalid(f"A field of the upload is longer than {_MAX_FIELD_BYTES} bytes.")


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise _invalid("The request's content type has to be multipart/form-data with a boundary.")
    return boundary


def _text(data: bytes) -> str:
    text = data.decode("utf-8", errors="replace")
    return "".join(character for character in text if character.isprintable())


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(
        message,
        code="invalid_multipart",
        param=_FILE,
        hint="Send the file as `curl -F file=@rows.jsonl` does.",
    )

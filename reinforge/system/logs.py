"""Logs of the platform's processes: text, or one JSON object per line with `REINFORGE_LOG_FORMAT=json`."""

import json
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import IO, Any

from reinforge import settings
from reinforge.errors import InvalidInput

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_JOB = re.compile(r"\bftjob-[A-Za-z0-9]+")
_context: ContextVar[dict[str, Any] | None] = ContextVar("log_context", default=None)
_process_fields: dict[str, Any] = {}


def configure(process: str, stream: IO[str] | None = None) -> None:
    """Configure the root logger. process: `api`, `worker` … Raises InvalidInput for an unknown format."""
    chosen = settings.log_format() or "text"
    if chosen not in ("text", "json"):
        raise InvalidInput(
            f"REINFORGE_LOG_FORMAT is {chosen!r}, which is not a log format.",
            code="invalid_log_format",
            hint="Set text or json.",
        )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(process) if chosen == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=chosen == "json")
    if chosen == "json":
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught
        threading.excepthook = _log_uncaught_in_thread


@contextmanager
def log_context(**fields: Any) -> Iterator[None]:
    """Add fields to the log lines of this thread or task; a field that is None is left out."""
    present = {name: value for name, value in fields.items() if value is not None}
    token = _context.set({**(_context.get() or {}), **present})
    try:
        yield
    finally:
        _context.reset(token)


@contextmanager
def process_log_context(**fields: Any) -> Iterator[None]:
    _process_fields.update(fields)
    try:
        yield
    finally:
        for name in fields:
            _process_fields.pop(name, None)


def job_in(text: str) -> str | None:
    match = _JOB.search(text)
    return match.group() if match else None


class JsonLines(logging.Formatter):
    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        line: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": self._process,
            "pid": os.getpid(),
            "logger": record.name,
            "message": message,
            **_process_fields,
            **(_context.get() or {}),
        }
        if "job" not in line and (job := job_in(message)) is not None:
            line["job"] = job
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps(line, ensure_ascii=False, default=str)


def _log_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
        return
    logging.getLogger("reinforge").critical("uncaught exception", exc_info=(kind, error, traceback))


def _log_uncaught_in_thread(caught: threading.ExceptHookArgs) -> None:
    if caught.exc_value is not None and not issubclass(caught.exc_type, SystemExit):
        _log_uncaught(caught.exc_type, caught.exc_value, caught.exc_traceback)

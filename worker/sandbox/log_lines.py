"""Lines of the sandbox's log: text, or JSON as the platform's other processes write it."""

import json
import os
import sys
from datetime import UTC, datetime

from worker.sandbox import settings


def write(message: str, level: str = "info") -> None:
    sys.stderr.write(line(message, level) + "\n")


def line(message: str, level: str) -> str:
    if settings.log_format() != "json":
        return f"sandboxd: {message}"
    fields = {
        "ts": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": level,
        "process": "sandbox",
        "pid": os.getpid(),
        "logger": "sandboxd",
        "message": message,
    }
    return json.dumps(fields, ensure_ascii=False)

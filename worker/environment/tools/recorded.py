"""Results of tool server calls on disk, so that a resumed step reuses results instead of repeating calls."""

import json
import sqlite3
from contextlib import suppress
from pathlib import Path

from reinforge.tools import CallStatus
from worker.environment.tools.base import ToolRequest
from worker.rewards.answer_file import open_answers
from worker.rewards.judge.cache import cache_key

MOST_CALLS = 32_768
_TABLE = "call (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, result TEXT NOT NULL)"
UNANSWERED: frozenset[CallStatus] = frozenset({"timeout", "unreachable", "refused_address"})
"""Statuses of calls that the server did not answer."""


class RecordedCalls:
    """The newest MOST_CALLS results by server and call; nothing is recorded if `path` is None. Not thread-safe."""

    def __init__(self, path: Path | None = None, *, most: int = MOST_CALLS) -> None:
        self._path, self._most, self._writes = path, most, 0
        self._open: sqlite3.Connection | None = None

    def get(self, url: str, request: ToolRequest) -> tuple[CallStatus, str] | None:
        if self._path is None:
            return None
        query = "SELECT result FROM call WHERE key = ?"
        row = self._database.execute(query, (_key(url, request),)).fetchone()
        if row is None:
            return None
        status, text = json.loads(row[0])
        return status, text

    def put(self, url: str, request: ToolRequest, status: CallStatus, text: str) -> None:
        if self._path is None or status in UNANSWERED:
            return
        with suppress(sqlite3.Error):  # of a full disk: a resumed step would repeat the call
            values = _key(url, request), json.dumps([status, text])
            self._database.execute("INSERT OR REPLACE INTO call (key, result) VALUES (?, ?)", values)
            self._writes += 1
            if self._writes % (self._most // 8 or 1) == 0:
                oldest = "SELECT max(number) - ? FROM call"
                self._database.execute(f"DELETE FROM call WHERE number <= ({oldest})", (self._most,))

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _database(self) -> sqlite3.Connection:
        if self._open is None:
            self._open = open_answers(self._path, _TABLE)
        return self._open


def _key(url: str, request: ToolRequest) -> str:
    """Key of a call: seed and sample number identify the rollout, the length of its history the call."""
    place = [request.seed, request.sample_no, len(request.history)]
    return cache_key(url, place, request.name, request.arguments)

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from worker.rewards.answer_file import open_answers


class JudgeCache:
    """Cache of answers by request key, in memory if `path` is None. Not thread-safe."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._open: sqlite3.Connection | None = None

    def get(self, key: str) -> str | None:
        row = self._database.execute("SELECT answer FROM answer WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, answer: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO answer VALUES (?, ?)", (key, answer))

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _database(self) -> sqlite3.Connection:
        if self._open is None:
            self._open = open_answers(self._path, "answer (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
        return self._open


def cache_key(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

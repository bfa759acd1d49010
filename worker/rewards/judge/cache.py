"""Cache of judges' answers on disk."""

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any


class JudgeCache:
    """Text → text, in memory if `path` is None. Not thread-safe."""

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
            self._open = _opened(self._path)
        return self._open


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = sqlite3.connect(path or ":memory:", isolation_level=None)
    try:
        # A power failure may lose the newest answers; they are then requested again.
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TABLE IF NOT EXISTS answer (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
    except sqlite3.DatabaseError:  # damaged by a crash: its answers are requested again
        database.close()
        if path is None:
            raise
        for file in path.parent.glob(path.name + "*"):
            file.unlink()
        return _opened(path)
    return database


def cache_key(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

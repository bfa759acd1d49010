"""Opens the SQLite files that cache answers of paid or slow services."""

import sqlite3
from pathlib import Path


def open_answers(path: Path | None, table: str) -> sqlite3.Connection:
    """Open a database with `table`, in memory if `path` is None. An empty file replaces a damaged one."""
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = sqlite3.connect(path or ":memory:", isolation_level=None)
    try:
        # A power failure may lose the newest answers; they are then requested again.
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    except sqlite3.DatabaseError:  # damaged by a crash: its answers are requested again
        database.close()
        if path is None:
            raise
        for file in path.parent.glob(path.name + "*"):
            file.unlink()
        return open_answers(path, table)
    return database

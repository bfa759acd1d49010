"""Advisory lock of the leading background process.

`python -m backend.data.leader_lock` exits with 0 while the lock is held.
"""

import sys

import psycopg

from backend.settings import Settings
from reinforge.errors import InvalidInput

LEADER_LOCK = 0x72656C656164  # "relead"
LOCK_QUERY = f"""
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32) | objid::bigint = {LEADER_LOCK} AND objsubid = 1
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def is_held(conninfo: str) -> bool:
    with psycopg.connect(conninfo, connect_timeout=5) as connection:
        row = connection.execute(LOCK_QUERY.encode()).fetchone()
    return row is not None and row[0] > 0


def main() -> int:
    try:
        scheme, _, rest = Settings().required_database_url().partition("://")
        lock_held = is_held(f"{scheme.partition('+')[0]}://{rest}")
    except (psycopg.Error, InvalidInput) as error:
        sys.stderr.write(f"The database does not answer: {str(error).strip()}\n")
        return 1
    if not lock_held:
        sys.stderr.write("No background process leads.\n")
    return 0 if lock_held else 1


if __name__ == "__main__":
    sys.exit(main())

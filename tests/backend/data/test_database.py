"""Connections ended by the database server: detected before use, or answered as a temporary outage."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import SQLAlchemyError

from backend.data.database import Database
from tests.backend.server import Backend

END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND usename = current_user"
    " AND pid <> pg_backend_pid() AND query NOT LIKE 'LISTEN%%'"
)


@pytest.fixture(scope="module")
def served(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    home: Path = tmp_path_factory.mktemp("home")
    with Backend(module_database_url, home) as running:
        yield running


def test_a_connection_that_ended_while_idle_is_replaced(served: Backend) -> None:
    for _ in range(3):
        assert served.api.get("/jobs").status_code == 200
        assert served.sql(END_ALL)
        time.sleep(1.1)
        assert served.api.get("/jobs").status_code == 200


def test_one_that_ended_a_moment_ago_is_an_outage_that_passes(served: Backend) -> None:
    assert served.api.get("/jobs").status_code == 200
    assert served.sql(END_ALL)
    answers = [served.api.get("/jobs") for _ in range(4)]
    assert answers[-1].status_code == 200
    for answer in answers:
        if answer.status_code != 200:
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "database_unavailable")
            assert answer.headers["retry-after"]


def test_database_errors_are_logged_without_values(served: Backend) -> None:
    async def fails() -> str:
        database = Database(served.database_url, pool_size=1)
        try:
            async with database.transaction() as session:
                await session.execute(text("SELECT 1 / (length(:said) - 6)"), {"said": "secret"})
        except SQLAlchemyError as error:
            return str(error)
        finally:
            await database.close()
        return ""

    message = asyncio.run(fails())
    assert "division by zero" in message
    assert "secret" not in message


def test_statements_are_transactions_of_their_own_in_autocommit_alone(served: Backend) -> None:
    async def transactions() -> list[int]:
        database = Database(served.database_url, pool_size=1)
        ids = []
        try:
            for opened in (database.autocommit, database.transaction, database.autocommit):
                async with opened() as session:
                    for _ in range(2):
                        ids.append(await session.scalar(text("SELECT txid_current()")))
        finally:
            await database.close()
        return ids

    first, second, third, fourth, fifth, sixth = asyncio.run(transactions())
    assert first != second and third == fourth and fifth != sixth


def test_a_statement_has_a_time(database_url: str, tmp_path: Path) -> None:
    """Waiting for a lock counts: one transaction does not hold requests, and their connections, for ever."""
    with (
        Backend(database_url, tmp_path, statement_seconds=0.3) as backend,
        psycopg.connect(database_url) as other,
    ):
        other.execute("LOCK TABLE dataset IN ACCESS EXCLUSIVE MODE")
        slow = backend.api.get("/datasets")
        assert (slow.status_code, slow.json()["error"]["code"]) == (503, "statement_too_slow")
        other.rollback()
        assert backend.api.get("/datasets").status_code == 200


def test_connections_of_a_burst_stay_open_for_the_next(served: Backend) -> None:
    """Twice the size of the pool: opening one takes longer than most statements."""

    async def opened() -> int:
        database = Database(served.database_url, pool_size=2)
        connections: list[object] = []
        event.listen(database.engine.sync_engine, "connect", lambda *new: connections.append(new))

        async def use() -> None:
            async with database.autocommit() as session:
                await session.execute(text("SELECT pg_sleep(0.1)"))

        try:
            for _ in range(3):
                await asyncio.gather(*(use() for _ in range(4)))
        finally:
            await database.close()
        return len(connections)

    assert asyncio.run(opened()) == 4

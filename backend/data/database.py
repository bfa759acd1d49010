"""PostgreSQL connections: one transaction per request, committed before the response is sent."""

import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated

import psycopg
from fastapi import Depends, Request
from psycopg.errors import UniqueViolation
from sqlalchemy import event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError, IntegrityError, InvalidRequestError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from backend.models import Base
from reinforge.errors import StateConflict, deleted_meanwhile

log = logging.getLogger(__name__)

AfterCommit = Callable[[], Awaitable[object]]
_AFTER_COMMIT = "after_commit"
_IDLE_SINCE = "idle_since"
_TRUSTED_SECONDS = 1.0


def sqlalchemy_url(url: str) -> str:
    parsed = make_url(url).set(drivername="postgresql+psycopg")
    return parsed.render_as_string(hide_password=False)


def _ping_what_was_idle(engine: AsyncEngine) -> None:
    """Ping a connection before use only after idle time: `pool_pre_ping` pings once per transaction."""

    @event.listens_for(engine.sync_engine, "checkin")
    def note(connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        record.info[_IDLE_SINCE] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def ping(connection: DBAPIConnection, record: ConnectionPoolEntry, proxy: PoolProxiedConnection) -> None:
        if time.monotonic() - record.info.get(_IDLE_SINCE, math.inf) < _TRUSTED_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except psycopg.Error as error:
            raise DisconnectionError from error


def _limit_statements(engine: AsyncEngine, seconds: float) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def limit(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET statement_timeout = {int(seconds * 1000)}")
        cursor.close()
        connection.commit()


class Database:
    def __init__(self, url: str, *, pool_size: int = 10, statement_seconds: float = 0) -> None:
        self.conninfo, self.pool_size = url, pool_size
        self.engine: AsyncEngine = create_async_engine(
            sqlalchemy_url(url),
            pool_size=2 * pool_size,
            max_overflow=0,  # a connection beyond the pool would be closed after each use and opened for the next
            pool_timeout=20,
            hide_parameters=True,  # keep users' data out of the log of failed statements
        )
        _ping_what_was_idle(self.engine)
        if statement_seconds:
            _limit_statements(self.engine, statement_seconds)
        self._sessions = async_sessionmaker(self.engine, expire_on_commit=False)
        self._autocommit_sessions = async_sessionmaker(
            self.engine.execution_options(isolation_level="AUTOCOMMIT"), expire_on_commit=False
        )

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        async with self._sessions() as session:
            async with session.begin():
                yield session
            await _run_after_commit(session)

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[AsyncSession]:
        async with self._autocommit_sessions() as session:
            yield session

    @asynccontextmanager
    async def open_session(self) -> AsyncIterator[AsyncSession]:
        async with self._sessions() as session:
            yield session
            await session.commit()
            await _run_after_commit(session)

    async def close(self) -> None:
        await self.engine.dispose()


async def lock_row(session: AsyncSession, row: Base) -> None:
    try:
        await session.refresh(row, with_for_update=True)
    except InvalidRequestError as error:
        raise deleted_meanwhile() from error


async def flush_unique(session: AsyncSession, taken: StateConflict) -> None:
    try:
        await session.flush()
    except IntegrityError as error:
        if isinstance(error.orig, UniqueViolation):
            raise taken from error
        raise


def after_commit(session: AsyncSession, action: AfterCommit) -> None:
    session.info.setdefault(_AFTER_COMMIT, []).append(action)


async def _run_after_commit(session: AsyncSession) -> None:
    for action in session.info.pop(_AFTER_COMMIT, []):
        try:
            await action()
        except Exception:
            log.exception("an action after commit failed")


async def get_database(request: Request) -> Database:
    database: Database = request.app.state.database
    return database


async def _session(request: Request) -> AsyncIterator[AsyncSession]:
    database = await get_database(request)
    async with database.open_session() as session:
        yield session


Session = Annotated[AsyncSession, Depends(_session, scope="function")]
"""Session committed after the endpoint returns, before the response goes out."""


async def _reading(request: Request) -> AsyncIterator[AsyncSession]:
    database = await get_database(request)
    async with database.autocommit() as session:
        yield session


ReadSession = Annotated[AsyncSession, Depends(_reading, scope="function")]
"""Session of endpoints that only read. Each statement is a transaction, so its locks end with it."""

DatabaseDep = Annotated[Database, Depends(get_database)]

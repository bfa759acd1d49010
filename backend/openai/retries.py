"""Deduplication of retried requests of OpenAI's clients, which send no idempotency key."""

from datetime import datetime, timedelta

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel
from sqlalchemy import delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal
from backend.http.idempotency import fingerprint
from backend.models import IdempotencyKey, now

WINDOW = timedelta(minutes=30)
_FIRST, _AGAIN = "first", "again"


class RetryDeduplication:
    def __init__(self, request: Request, body: bytes, who: Principal) -> None:
        count = request.headers.get("x-stainless-retry-count", "0")
        self._again = count.isdigit() and int(count) > 0
        self._began = now()
        key = f"body:{fingerprint(who.id, body)}"
        self._where = {"project_id": who.project_id, "path": request.url.path, "key": key}

    async def find(self, session: AsyncSession) -> Response | None:
        if not self._again:
            old = delete(IdempotencyKey).filter_by(**self._where)
            await session.execute(old.where(IdempotencyKey.created_at < self._began))
            return None
        row = await session.scalar(select(IdempotencyKey).filter_by(**self._where))
        return self._answer(row, self._since)

    async def begin(self, session: AsyncSession) -> Response | None:
        kind = _AGAIN if self._again else _FIRST
        fresh = {"request_sha256": kind, "created_at": now(), "status": None, "body": None}
        statement = insert(IdempotencyKey).values(**self._where, **fresh)
        stale = IdempotencyKey.created_at < self._since
        reserved = await session.scalar(
            statement.on_conflict_do_update(
                index_elements=list(self._where),
                set_=fresh,
                # What another first request has made is another job.
                where=stale if self._again else or_(stale, IdempotencyKey.request_sha256 == _FIRST),
            ).returning(IdempotencyKey.key)
        )
        if reserved is not None:
            return None
        row = await session.scalar(
            select(IdempotencyKey).filter_by(**self._where).execution_options(populate_existing=True)
        )
        return self._answer(row, self._since)

    async def finish(self, session: AsyncSession, answer: BaseModel) -> None:
        values = {"status": 200, "body": answer.model_dump_json()}
        await session.execute(update(IdempotencyKey).filter_by(**self._where).values(**values))

    @property
    def _since(self) -> datetime:
        return self._began - WINDOW if self._again else self._began

    def _answer(self, row: IdempotencyKey | None, since: datetime) -> Response | None:
        if row is None or row.body is None or row.status is None or row.created_at < since:
            return None
        return Response(row.body, row.status, {"idempotent-replayed": "true"}, media_type="application/json")

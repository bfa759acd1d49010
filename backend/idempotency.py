"""`Idempotency-Key` on POST: the same key and request get the first answer again instead of a second thing.

    if (stored := await once.begin(session, fingerprint)) is not None:
        return stored
    made = ...                                        # in the same transaction
    return await once.finish(session, 201, made)

The key's row is inserted in the transaction that makes the thing: a second request with the key waits for the
first to commit and then finds the answer, and a failed first request leaves nothing behind. Kept for a day.
"""

import hashlib
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.responses import Response
from pydantic import BaseModel
from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.auth import Writer
from backend.models import IdempotencyKey, now
from reinforge.errors import InvalidInput

KEPT = timedelta(hours=24)


class Idempotency:
    """The request's idempotency key, if it has one."""

    def __init__(self, project_id: str, path: str, key: str | None) -> None:
        self._where = {"project_id": project_id, "path": path, "key": key or ""}
        self.given = key is not None

    async def peek(self, session: AsyncSession, fingerprint: str) -> Response | None:
        """The stored answer, without reserving the key. Raises InvalidInput when the request is another one."""
        if not self.given:
            return None
        row = await session.scalar(select(IdempotencyKey).filter_by(**self._where))
        if row is None or row.status is None or row.body is None:
            return None
        if row.request_sha256 != fingerprint:
            raise InvalidInput(
                "This Idempotency-Key was used for another request.",
                code="idempotency_key_reused",
                hint="Use a new key for a new request.",
            )
        return _json(row.body, row.status, replayed=True)

    async def begin(self, session: AsyncSession, fingerprint: str) -> Response | None:
        """Reserve the key until the transaction ends; the stored answer when there is one already.

        `fingerprint` is a hash of the request's content.
        """
        if not self.given:
            return None
        reserved = await session.scalar(
            insert(IdempotencyKey)
            .values(**self._where, request_sha256=fingerprint, created_at=now())
            .on_conflict_do_nothing()
            .returning(IdempotencyKey.key)
        )
        return None if reserved is not None else await self.peek(session, fingerprint)

    async def finish(self, session: AsyncSession, status: int, answer: BaseModel) -> Response:
        """Keep the answer under the key, and send it."""
        body = answer.model_dump_json()
        if self.given:
            await session.execute(
                update(IdempotencyKey).filter_by(**self._where).values(status=status, body=body)
            )
        return _json(body, status, replayed=False)


def _json(body: str, status: int, *, replayed: bool) -> Response:
    headers = {"idempotent-replayed": "true"} if replayed else {}
    return Response(body, status, headers, media_type="application/json")


def fingerprint(*parts: str | bytes) -> str:
    """One hash for the parts of a request."""
    joined = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        joined.update(len(data).to_bytes(8, "big") + data)
    return joined.hexdigest()


async def _idempotency(
    request: Request,
    who: Writer,
    key: Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)] = None,
) -> Idempotency:
    return Idempotency(who.project_id, request.url.path, key)


Once = Annotated[Idempotency, Depends(_idempotency)]


async def forget_old(session: AsyncSession) -> None:
    """Delete keys whose day is over."""
    await session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < now() - KEPT))

"""`Idempotency-Key` on POST: repeating a request with its key returns the first response.

An endpoint that is one transaction needs only `dependencies=[OnceWhole]`. Others use `Once` in the
transaction that creates the row:

    if (stored := await once.begin(session, once.request_hash(await request.body()))) is not None:
        return stored
    row = ...
    return await once.finish(session, 201, row)

Responses are stored for a day, sealed: they may hold secrets.
"""

import hashlib
import json
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.responses import Response
from pydantic import BaseModel
from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, Writer
from backend.data.database import Session
from backend.data.sealing import Sealer, SealerDep
from backend.http.strict_json import ResponseReady
from backend.models import IdempotencyKey, now
from reinforge.errors import InvalidInput, StateConflict, Unavailable

LIFETIME = timedelta(hours=24)
_SEAL = "idempotency"


class Idempotency:
    def __init__(self, request: Request, who: Principal, sealer: Sealer, key: str | None) -> None:
        self._where = {"project_id": who.project_id, "path": request.url.path, "key": key or ""}
        self._asker, self._query, self._sealer = who.id, request.url.query, sealer
        self.has_key = key is not None

    def request_hash(self, body: bytes) -> str:
        """Hash of the request and its sender, since only the sender may get the response."""
        return fingerprint(self._asker, self._query, body)

    async def peek(self, session: AsyncSession, fingerprint: str) -> Response | None:
        if not self.has_key:
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
        return _json(self._opened(row.body), row.status, replayed=True)

    async def begin(self, session: AsyncSession, fingerprint: str) -> Response | None:
        if not self.has_key:
            return None
        reserved = await session.scalar(
            insert(IdempotencyKey)
            .values(**self._where, request_sha256=fingerprint, created_at=now())
            .on_conflict_do_nothing()
            .returning(IdempotencyKey.key)
        )
        return None if reserved is not None else await self.peek(session, fingerprint)

    async def finish(self, session: AsyncSession, status: int, answer: BaseModel) -> Response:
        body = answer.model_dump_json()
        await self.keep(session, status, body)
        return _json(body, status, replayed=False)

    async def keep(self, session: AsyncSession, status: int, body: str) -> None:
        if self.has_key:
            values = {"status": status, "body": self._sealer.seal(_SEAL, body)}
            await session.execute(update(IdempotencyKey).filter_by(**self._where).values(**values))

    def _opened(self, stored: str) -> str:
        if stored.startswith("{"):  # from before answers were sealed
            return stored
        try:
            return self._sealer.open(_SEAL, stored)
        except Unavailable as error:
            raise StateConflict(
                "The request succeeded, but its stored response cannot be read: the server's secret key has changed.",
                code="idempotency_answer_unreadable",
                hint="Look up the created object in its list, or restore the former REINFORGE_SECRET_KEY.",
            ) from error


def _json(body: str, status: int, *, replayed: bool) -> Response:
    headers = {"idempotent-replayed": "true"} if replayed else {}
    if tag := json.loads(body).get("etag"):
        headers["etag"] = f'"{tag}"'
    return Response(body, status, headers, media_type="application/json")


def fingerprint(*parts: str | bytes) -> str:
    joined = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        joined.update(len(data).to_bytes(8, "big") + data)
    return joined.hexdigest()


async def _idempotency(
    request: Request,
    who: Writer,
    sealer: SealerDep,
    key: Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)] = None,
) -> Idempotency:
    return Idempotency(request, who, sealer, key)


Once = Annotated[Idempotency, Depends(_idempotency)]


async def _whole(request: Request, session: Session, once: Once) -> None:
    if not once.has_key:
        return
    if (stored := await once.begin(session, once.request_hash(await request.body()))) is not None:
        raise ResponseReady(stored)

    async def keep(response: Response) -> None:
        await once.keep(session, response.status_code, bytes(response.body).decode())

    request.state.keep_answer = keep


OnceWhole = Depends(_whole)


async def forget_old(session: AsyncSession) -> None:
    await session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < now() - LIFETIME))

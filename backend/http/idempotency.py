"""`Idempotency-Key` on POST: the same key and request get the first answer again instead of a second thing.

An endpoint that is one transaction says so and no more:

    @router.post("/things", status_code=201, dependencies=[OnceWhole])

One that first asks workers, or is several transactions, does it by hand in the one that makes the thing:

    if (stored := await once.begin(session, once.asked(await request.body()))) is not None:
        return stored
    made = ...                                        # in the same transaction
    return await once.finish(session, 201, made)

The key's row is inserted in the transaction that makes the thing: a second request with the key waits for the
first to commit and then finds the answer, and a failed first request leaves nothing behind. Kept for a day, sealed:
answers may hold secrets (a new API key, the address of an invitation), which exist nowhere else in clear.
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
from backend.http.strict_json import Answered
from backend.models import IdempotencyKey, now
from reinforge.errors import InvalidInput, StateConflict, Unavailable

KEPT = timedelta(hours=24)
_SEAL = "idempotency"


class Idempotency:
    """The request's idempotency key, if it has one."""

    def __init__(self, request: Request, who: Principal, sealer: Sealer, key: str | None) -> None:
        self._where = {"project_id": who.project_id, "path": request.url.path, "key": key or ""}
        self._asker, self._query, self._sealer = who.id, request.url.query, sealer
        self.given = key is not None

    def asked(self, body: bytes) -> str:
        """The fingerprint of a request. Another asker's is another one: the answer may hold a secret."""
        return fingerprint(self._asker, self._query, body)

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
        return _json(self._opened(row.body), row.status, replayed=True)

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
        await self.keep(session, status, body)
        return _json(body, status, replayed=False)

    async def keep(self, session: AsyncSession, status: int, body: str) -> None:
        if self.given:
            values = {"status": status, "body": self._sealer.seal(_SEAL, body)}
            await session.execute(update(IdempotencyKey).filter_by(**self._where).values(**values))

    def _opened(self, kept: str) -> str:
        """Raises StateConflict where the server has got another secret key since."""
        if kept.startswith("{"):  # from before answers were sealed
            return kept
        try:
            return self._sealer.open(_SEAL, kept)
        except Unavailable as error:
            raise StateConflict(
                "This was done, but its answer cannot be read: the server has got another secret key since.",
                code="idempotency_answer_unreadable",
                hint="Look for what was made in its list; set REINFORGE_SECRET_KEY to what it was.",
            ) from error


def _json(body: str, status: int, *, replayed: bool) -> Response:
    headers = {"idempotent-replayed": "true"} if replayed else {}
    if tag := json.loads(body).get("etag"):
        headers["etag"] = f'"{tag}"'
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
    sealer: SealerDep,
    key: Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)] = None,
) -> Idempotency:
    """Whoever repeats the request with its key gets the first answer again, for a day."""
    return Idempotency(request, who, sealer, key)


Once = Annotated[Idempotency, Depends(_idempotency)]


async def _whole(request: Request, session: Session, once: Once) -> None:
    """Everything that the endpoint does in the request's transaction is done once. Raises Answered."""
    if not once.given:
        return
    if (stored := await once.begin(session, once.asked(await request.body()))) is not None:
        raise Answered(stored)

    async def keep(response: Response) -> None:
        await once.keep(session, response.status_code, bytes(response.body).decode())

    request.state.keep_answer = keep


OnceWhole = Depends(_whole)


async def forget_old(session: AsyncSession) -> None:
    """Delete keys whose day is over."""
    await session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < now() - KEPT))

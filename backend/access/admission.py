"""Middleware that authenticates requests and limits their bodies before FastAPI routes and parses them."""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from typing import Any

from fastapi import Request
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.access import quotas, scopes, sender_slots
from backend.access.auth import (
    ROLES,
    Principal,
    bearer,
    digest,
    identify,
    is_scraper,
    is_worker_token,
    unknown_worker,
)
from backend.access.body_limits import BodyLimit, limit_of, needs_identity
from backend.data.database import Database
from backend.http import errors
from backend.models import Attempt
from backend.workers.fence import lost
from reinforge.errors import NotAuthenticated, ReinforgeError, RequestTooSlow, TooLarge

log = logging.getLogger(__name__)

RECHECK_SECONDS = 2.0
_TOKENS_REMEMBERED = 1000
_PROMPT_SECONDS = 0.05
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)


class Admission:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._rights = Rights()
        self._job_tokens: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        changes = scope["method"] not in scopes.SAFE
        limit = limit_of(scope["method"], scope["path"])
        place = self._place(request)
        body = Body(receive, limit, request, place)
        try:
            try:
                if place is not None:
                    await place.enter()
                if changes and needs_identity(scope["path"]):
                    await self._identify(request)
                if changes:
                    body.check_announced()
            except (ReinforgeError, SQLAlchemyError) as error:
                await _refuse(request, error, send)
                return
            await Vigil(self.app, request, body, self._rights).run(send)
        finally:
            if place is not None:
                place.leave()
            if (ticket := quotas.ticket_of(request)) is not None:
                ticket.close()
            if isinstance(who := getattr(request.state, "principal", None), Principal):
                request.app.state.sender_slots.remember(request, who.project_id)

    def _place(self, request: Request) -> sender_slots.SenderSlot | None:
        """None for workers and probes, which must not wait."""
        path = request.url.path
        if path == "/healthz" or self._is_workers(request) or (path == "/metrics" and is_scraper(request)):
            return None
        place: sender_slots.SenderSlot = request.app.state.sender_slots.place(request)
        request.state.place = place
        return place

    def _is_workers(self, request: Request) -> bool:
        if not request.url.path.startswith("/worker/v1/") or (token := bearer(request)) is None:
            return False
        return is_worker_token(token, request.app.state.settings) or digest(token) in self._job_tokens

    async def _identify(self, request: Request) -> None:
        state = request.app.state
        if request.url.path.startswith("/worker/v1/"):
            await self._identify_worker(request, state.database)
        else:
            who = request.state.principal = await identify(request, state.database)
            quotas.count(request, who.id, who.project_id)

    async def _identify_worker(self, request: Request, database: Database) -> None:
        token, path = bearer(request), request.url.path
        if is_worker_token(token, request.app.state.settings) or await self._is_job_token(database, token):
            return
        if path.startswith("/worker/v1/jobs/") and path != "/worker/v1/jobs/claim":
            raise lost("The job token does not belong to any attempt at this job.")  # also of a deleted job
        raise unknown_worker()

    async def _is_job_token(self, database: Database, token: str | None) -> bool:
        """Whether `token` belongs to any attempt at a job. The endpoint decides what it may access."""
        if token is None:
            return False
        key = digest(token)
        if key not in self._job_tokens:
            async with database.transaction() as session:
                query = select(Attempt.job_id).where(Attempt.token_sha256 == key).limit(1)
                if await session.scalar(query) is None:
                    return False
            self._job_tokens[key] = None
            while len(self._job_tokens) > _TOKENS_REMEMBERED:
                self._job_tokens.popitem(last=False)
        return True


def protect(start: Message) -> None:
    if start["type"] == "http.response.start":
        own = {name.lower() for name, _ in start["headers"]}
        start["headers"] = [
            *start["headers"],
            *(header for header in SECURITY_HEADERS if header[0] not in own),
        ]


class Body:
    def __init__(
        self, receive: Receive, limit: BodyLimit, request: Request, place: sender_slots.SenderSlot | None
    ) -> None:
        self._receive, self._limit, self._request, self._place = receive, limit, request, place
        self._bytes, self._waited, self._complete = 0, 0.0, False
        self.revoked: ReinforgeError | None = None

    def check_announced(self) -> None:
        announced = self._request.headers.get("content-length", "")
        if announced.isdigit():
            self._check_size(int(announced))

    async def __call__(self) -> Message:
        if self._complete:
            return await self._receive()
        if self.revoked is not None:
            raise self.revoked
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._patience()):
                message = await self._next_piece()
        except TimeoutError as error:
            raise RequestTooSlow(
                "The request's body arrived too slowly.",
                hint=f"Send it again; the body may pause for at most {self._limit.stall_seconds:g} s and "
                f"must arrive at {self._limit.least_rate / 1024:g} KiB/s or more.",
            ) from error
        self._waited += time.monotonic() - began
        self._bytes += len(message.get("body", b""))
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        self._check_size(self._bytes)
        if self._complete and self._place is not None and message["type"] == "http.request":
            await self._place.enter()
        return message

    async def _next_piece(self) -> Message:
        if self._place is None or not self._place.held:
            return await self._receive()
        timer = asyncio.get_running_loop().call_later(_PROMPT_SECONDS, self._place.leave)
        try:
            return await self._receive()
        finally:
            timer.cancel()

    def _patience(self) -> float:
        stall_seconds = self._limit.stall_seconds
        return max(
            0.0, min(stall_seconds, stall_seconds + self._bytes / self._limit.least_rate - self._waited)
        )

    def _check_size(self, size: int) -> None:
        if self._limit.bytes is not None and size > self._limit.bytes:
            raise TooLarge(
                f"The request's body is larger than {self._limit.bytes:,} bytes, the endpoint's limit.",
                code="body_too_large",
            )
        if (ticket := quotas.ticket_of(self._request)) is not None:
            ticket.hold(size, file=self._limit.bytes is None)


class Rights:
    def __init__(self) -> None:
        self._lookups: dict[tuple[str, ...], tuple[float, asyncio.Task[Principal | None]]] = {}

    async def hold(self, request: Request, who: Principal) -> bool:
        headers = request.headers
        key = (headers.get("authorization", ""), headers.get("cookie", ""), who.project_id)
        checked_at, lookup = self._lookups.get(key, (0.0, None))
        now = time.monotonic()
        if lookup is None or now - checked_at > RECHECK_SECONDS / 2:
            lookup = asyncio.create_task(self._look_up(request, who.project_id))
            self._lookups = {
                credential: entry
                for credential, entry in self._lookups.items()
                if now - entry[0] < RECHECK_SECONDS
            }
            self._lookups[key] = (now, lookup)
        try:
            valid = await asyncio.shield(lookup)
        except SQLAlchemyError:
            log.warning("could not recheck the rights of a long request, which continues")
            return True
        return valid is not None and ROLES.index(valid.role) >= ROLES.index(who.role)

    async def _look_up(self, request: Request, project: str) -> Principal | None:
        try:
            return await identify(request, request.app.state.database, project)
        except ReinforgeError:
            return None


class Vigil:
    def __init__(self, app: ASGIApp, request: Request, body: Body, rights: Rights) -> None:
        self._app, self._request, self._body, self._rights = app, request, body, rights
        self._task: asyncio.Task[Any] | None = None
        self._started = self._ended = False
        self._events = False
        self._recheck: asyncio.Task[None] | None = None

    async def run(self, send: Send) -> None:
        self._task = asyncio.current_task()
        timer = asyncio.get_running_loop().call_later(RECHECK_SECONDS, self._begin_to_recheck)

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._started = True
                protect(message)
                kind = dict(message["headers"]).get(b"content-type", b"")
                self._events = kind.startswith(b"text/event-stream")
                sender_slots.leave(self._request)  # the rest is sent at the client's pace
            await send(message)

        try:
            await self._app(self._request.scope, self._body, send_on)
        except asyncio.CancelledError:
            if not self._ended or self._task is None:
                raise
            self._task.uncancel()
            # Event streams reconnect and get the error; a download must end incomplete.
            if self._events:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            timer.cancel()
            if self._recheck is not None:
                self._recheck.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._recheck

    def _begin_to_recheck(self) -> None:
        self._recheck = asyncio.get_running_loop().create_task(self._keep_rechecking())

    async def _keep_rechecking(self) -> None:
        who = getattr(self._request.state, "principal", None)
        if not isinstance(who, Principal) or not needs_identity(self._request.url.path):
            return
        while await self._rights.hold(self._request, who):
            await asyncio.sleep(RECHECK_SECONDS)
        # A running change finishes; only its output and further input stop.
        self._body.revoked = NotAuthenticated("The API key or session was revoked during the request.")
        while not self._started:
            await asyncio.sleep(RECHECK_SECONDS / 4)
        self._ended = True
        assert self._task is not None
        self._task.cancel()


async def _refuse(request: Request, error: ReinforgeError | SQLAlchemyError, send: Send) -> None:
    async def send_protected(message: Message) -> None:
        protect(message)
        await send(message)

    if isinstance(error, ReinforgeError):
        response = errors.answer(request, error)
    else:
        response = errors.database_answer(request, error)
    await response(request.scope, request.receive, send_protected)

"""Audit middleware: logs every change by a person or a key, in the transaction of the change."""

import json
import logging
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import ORMExecuteState, Session, UOWTransaction
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.access.auth import Principal
from backend.access.scopes import SAFE
from backend.audit.service import note
from backend.data.database import Database
from backend.data.ids import new_id

log = logging.getLogger(__name__)

QUIET = frozenset(
    {
        "checkJob", "checkRewardSource", "testReward", "testRewardSource", "renderDataset", "measureDataset", "sample",
        "attackReward", "attackRewardSource", "checkTools", "runTools",
        "runGoldenCases", "createChatCompletion", "runGrader", "validateGrader", "switchProject", "createUploadPart",
        "putDatasetUploadPart", "createDatasetUploadPartUrl",
    }
)  # fmt: skip
"""Operations that are not logged, as they change nothing visible."""
LOUD_READS = ("/export", "/signing-secret")
DETAIL_FIELDS = (
    "name",
    "role",
    "scopes",
    "status",
    "revision",
    "kind",
    "period",
    "amount",
    "expires_at",
    "model",
    "filename",
)
MACHINERY = frozenset(
    {
        "agent_rollout", "audit_entry", "call", "call_chunk", "idempotency_key", "model_call", "stored_object",
        "base_model",
    }
)  # fmt: skip
"""Tables that any request may write. Writes to them are not logged, except to base models by operations on
models.
"""
_LARGEST = 1 << 20
_WROTE, _ADDED = "audit_wrote", "audit_added"


@dataclass
class Trail:
    scope: Scope
    id: str = field(default_factory=lambda: new_id("aud_"))
    made: str | None = None
    stored: bool = False
    over: bool = False

    @property
    def operation(self) -> str | None:
        return None if self.route in QUIET or self.who is None or self.over else self.route

    @property
    def route(self) -> str | None:
        operation_id: str | None = getattr(self.scope.get("route"), "operation_id", None)
        return operation_id

    @property
    def who(self) -> Principal | None:
        principal = self.scope.get("state", {}).get("principal")
        return principal if isinstance(principal, Principal) else None

    def counts(self, table: str) -> bool:
        own_model = table == "base_model" and (self.route or "").endswith("Model")
        return table not in MACHINERY or own_model

    def entry(self) -> dict[str, Any]:
        assert self.who is not None
        answer = _object(self.scope["state"].get("answer", b""))
        ids = self.scope.get("path_params", {})
        target = next(iter(ids.values()), None) if ids else answer.get("id") or self.made
        on_projects = self.scope["path"].startswith("/api/v1/projects")
        return {
            "id": self.id,
            "who": self.who,
            "action": self.operation,
            "target": str(target) if target else None,
            "details": {name: answer[name] for name in DETAIL_FIELDS if answer.get(name) is not None},
            "project_id": str(target if on_projects and target else self.who.project_id),
        }


_current: ContextVar[Trail | None] = ContextVar("audit_trail", default=None)


def _active() -> Trail | None:
    trail = _current.get()
    return trail if trail is not None and trail.operation is not None else None


@event.listens_for(Session, "do_orm_execute")
def _executed(state: ORMExecuteState) -> None:
    if (trail := _current.get()) and (state.is_insert or state.is_update or state.is_delete):
        table = getattr(getattr(state.statement, "table", None), "name", "")
        if trail.counts(table):
            state.session.info[_WROTE] = True


@event.listens_for(Session, "after_flush")
def _flushed(session: Session, _: UOWTransaction) -> None:
    if trail := _current.get():  # a sign-in says only behind its change who it is
        for row in (*session.new, *session.dirty, *session.deleted):
            if trail.counts(row.__tablename__):
                session.info[_WROTE] = True
        for row in session.new:
            own = trail.who is not None and getattr(row, "project_id", None) == trail.who.project_id
            if own and trail.made is None and trail.counts(row.__tablename__):
                trail.made = getattr(row, "id", None)


@event.listens_for(Session, "before_commit")
def _commits(session: Session) -> None:
    trail = _active()
    if trail is None or trail.stored or session.in_nested_transaction():
        return
    session.flush()
    if session.info.pop(_WROTE, False):
        note(session, **trail.entry())
        session.flush()
        session.info[_ADDED] = trail


@event.listens_for(Session, "after_commit")
def _committed(session: Session) -> None:
    if (trail := session.info.pop(_ADDED, None)) is not None:
        trail.stored = True


@event.listens_for(Session, "after_rollback")
def _rolled_back(session: Session) -> None:
    session.info.pop(_ADDED, None)
    session.info.pop(_WROTE, None)


class AuditTrail:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["method"] in SAFE and not scope["path"].endswith(LOUD_READS)):
            await self.app(scope, receive, send)
            return
        trail = Trail(scope)
        token = _current.set(trail)

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                await _complete(trail, message)
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        finally:
            trail.over = True
            _current.reset(token)


async def _complete(trail: Trail, start: Message) -> None:
    replayed = any(name == b"idempotent-replayed" for name, _ in start["headers"])
    failed = start["status"] >= 400
    if trail.operation is None or (not trail.stored and (failed or replayed)):
        return
    entry = trail.entry()
    if failed:
        entry["details"] = {"status": str(start["status"])}
    trail.over = True  # what follows is no change of the request's
    database: Database = trail.scope["app"].state.database
    try:
        async with database.transaction() as session:
            await session.run_sync(lambda plain: note(plain, **entry))
    except SQLAlchemyError:
        log.exception("the audit entry %s (%s) could not be completed", entry["action"], trail.id)


def _object(body: bytes) -> dict[str, Any]:
    if not body.startswith(b"{") or len(body) > _LARGEST:
        return {}
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

"""Every change that a person or a key makes is written down, whichever room it goes to.

The entry is stored after the change and before the answer goes out: whoever has an answer has an entry, and only a
process that dies between the two leaves a change without one. Of the answer a few harmless fields are kept, by name.
"""

import json
import logging
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.audit.service import note
from backend.auth import Principal
from backend.database import Database
from backend.scopes import SAFE

log = logging.getLogger(__name__)

QUIET = frozenset(
    {
        "checkJob", "checkRewardSource", "testReward", "testRewardSource", "renderDataset", "measureDataset", "sample",
        "runGoldenCases", "createChatCompletion", "runGrader", "validateGrader", "switchProject", "createUploadPart",
    }
)  # fmt: skip
"""Operations that change nothing which anybody else would see."""
LOUD_READS = ("/export", "/signing-secret")
"""Ends of addresses whose reading is written down, too: much goes out there."""
KEPT = (
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
_LARGEST = 1 << 20


class AuditTrail:
    """ASGI middleware, inside the one that compresses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (scope["method"] in SAFE and not scope["path"].endswith(LOUD_READS)):
            await self.app(scope, receive, send)
            return
        begun: Message | None = None

        async def send_noted(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and message["status"] < 400:
                begun = message  # held back until its first piece is there: that names what was made
                return
            if begun is not None:
                start, begun = begun, None
                await _write(scope, message)
                await send(start)
            await send(message)

        await self.app(scope, receive, send_noted)


async def _write(scope: Scope, message: Message) -> None:
    who = scope.get("state", {}).get("principal")
    operation = getattr(scope.get("route"), "operation_id", None)
    if not isinstance(who, Principal) or operation is None or operation in QUIET:
        return
    answer = _answer(message)
    ids = scope.get("path_params", {})
    target = next(iter(ids.values()), None) if ids else answer.get("id")
    project = who.project_id
    if scope["path"].startswith("/api/v1/projects"):
        project = target or project
    details = {name: answer[name] for name in KEPT if answer.get(name) is not None}
    database: Database = scope["app"].state.database
    try:
        async with database.transaction() as session:
            await note(session, who, operation, str(target) if target else None, details, str(project))
    except SQLAlchemyError:
        log.exception("no audit entry for %s by %s", operation, who.id)


def _answer(message: Message) -> dict[str, Any]:
    """The answer's JSON object; empty for anything else."""
    body: bytes = message.get("body", b"")
    if message.get("more_body") or not body.startswith(b"{") or len(body) > _LARGEST:
        return {}
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

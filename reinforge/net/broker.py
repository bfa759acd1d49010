"""State of the broker that wakes workers: Redis or a folder. Equal ids: backend and worker share the
broker.
"""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel

IDLE_POLL_SECONDS = 5.0
"""Idle workers poll at this interval, so that lost wake-ups only delay jobs."""
ANSWER_SECONDS = 3.0
_ID_FILE = "broker-id"
_ID_KEY = "reinforge:broker-id"


class BrokerState(BaseModel):
    kind: Literal["redis", "folder"]
    address: str
    """`redis://host:port/0` without credentials, or the folder."""
    id: str | None = None
    error: str | None = None

    @property
    def title(self) -> str:
        return "Redis" if self.kind == "redis" else f"the folder {self.address}"

    @property
    def problem(self) -> str | None:
        if self.error is None:
            return None
        verb = "does not answer" if self.kind == "redis" else "cannot be used"
        return f"The queue ({self.title}) {verb}: {self.error}"


def look(redis_url: str | None, folder: Path) -> BrokerState:
    if redis_url:
        return _look_at_redis(redis_url)
    state = BrokerState(kind="folder", address=str(folder))
    try:
        state.id = _folder_id(folder)
    except OSError as error:
        state.error = error.strerror or str(error)
    return state


def unanswered(redis_url: str | None, folder: Path, seconds: float) -> BrokerState:
    kind: Literal["redis", "folder"] = "redis" if redis_url else "folder"
    address = _without_credentials(redis_url) if redis_url else str(folder)
    return BrokerState(kind=kind, address=address, error=f"no answer within {seconds:.0f} s")


def wake_up_problem(workers: BrokerState, backends: BrokerState | None) -> str | None:
    late = f"The worker finds jobs only by polling every {IDLE_POLL_SECONDS:.0f} s."
    if workers.error is not None:
        return f"{_sentence(workers.problem)} {late}"
    if backends is None or backends.id is None or workers.id is None or backends.id == workers.id:
        return None
    remedy = (
        "Set its REDIS_URL to the backend's."
        if backends.kind == "redis"
        else "Set its REINFORGE_HOME to the backend's, or set the same REDIS_URL for both."
    )
    return (
        f"Wake-ups do not reach the worker: it reads them from {workers.title}, but the backend sends them "
        f"through {backends.title}. {late} {remedy}"
    )


def _sentence(text: str | None) -> str:
    return f"{(text or '').rstrip('.')}."


def _look_at_redis(url: str) -> BrokerState:
    import redis  # only backend and workers have it

    state = BrokerState(kind="redis", address=_without_credentials(url))
    try:
        client = redis.Redis.from_url(
            url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS, decode_responses=True
        )
        with contextlib.closing(client):
            client.set(_ID_KEY, secrets.token_hex(8), nx=True)
            state.id = str(client.get(_ID_KEY))
    except (redis.RedisError, OSError, ValueError) as error:
        state.error = str(error) or type(error).__name__
    return state


def _folder_id(folder: Path) -> str:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / _ID_FILE
    fresh = folder / f".{_ID_FILE}.{os.getpid()}.{secrets.token_hex(4)}"
    fresh.write_text(secrets.token_hex(8) + "\n")
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text().strip()


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

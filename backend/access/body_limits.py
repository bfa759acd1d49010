"""Size and rate limits of request bodies, by route; unlisted routes get the smallest limit."""

from dataclasses import dataclass

from backend.access.scopes import room

KIB, MIB = 1024, 1024**2
STRANGERS_BYTES = 64 * KIB
JSON_BYTES = 64 * KIB
JSON_BYTES_OF: dict[str, int] = {
    "datasets": MIB,
    "uploads": MIB,
    "files": MIB,
    "models": MIB,
    "deployments": MIB,
    "rewards": 16 * MIB,
    "jobs": 16 * MIB,
    "preflights": 16 * MIB,
    "evaluations": 16 * MIB,
    "fine_tuning": 16 * MIB,
    "sample": 8 * MIB,
    "chat": 8 * MIB,
    "rollout": 8 * MIB,
}
"""Largest JSON body in bytes, by the path segment after the version. A job with sixteen rewards of 256 KiB
fits.
"""
WORKER_BYTES = MIB
RECORDS_BYTES = 128 * MIB
"""Largest body, in bytes, of a worker's records, RPC results, rollouts or answers to model calls."""
OPEN = frozenset(
    f"/api/v1/{name}"
    for name in ("sign-in", "sign-out", "password-reset", "invitations/look", "invitations/accept")
)
_FILES = frozenset({"/api/v1/adapters", "/api/v1/datasets", "/v1/files"})
_PREFIXES = ("/api/v1/", "/v1/", "/worker/v1/")


@dataclass(frozen=True)
class BodyLimit:
    bytes: int | None
    stall_seconds: float = 20.0
    least_rate: float = 4 * KIB


STRANGERS = BodyLimit(STRANGERS_BYTES, stall_seconds=10.0)
FILE = BodyLimit(None, stall_seconds=60.0, least_rate=KIB)


def needs_identity(path: str) -> bool:
    return path.startswith(_PREFIXES) and path not in OPEN


def limit_of(method: str, path: str) -> BodyLimit:
    if not needs_identity(path):
        return STRANGERS
    if path.startswith("/worker/v1/"):
        return _of_worker(method, path)
    place = room(path)
    if (method == "POST" and path in _FILES) or (place == "uploads" and "/parts" in path):
        return FILE
    return BodyLimit(JSON_BYTES_OF.get(place, JSON_BYTES))


def _of_worker(method: str, path: str) -> BodyLimit:
    if method == "PUT" and path.startswith("/worker/v1/blobs/"):
        return FILE
    large = path.endswith(("/records", "/answer", "/chunks", "/rollouts", "/model-calls/answers"))
    return BodyLimit(RECORDS_BYTES if large else WORKER_BYTES, stall_seconds=60.0)

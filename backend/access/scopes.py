"""API key scopes that requests need, by method and path. Unlisted resources need `admin`."""

from reinforge.errors import NotAllowed
from reinforge.schemas.keys import Scope

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
WRITES: dict[str, Scope] = {
    "datasets": "data:write",
    "rewards": "data:write",
    "files": "data:write",
    "uploads": "data:write",
    "models": "data:write",
    "jobs": "jobs:write",
    "preflights": "jobs:write",
    "tools": "jobs:write",
    "evaluations": "jobs:write",
    "sweeps": "jobs:write",
    "fine_tuning": "jobs:write",
    "adapters": "jobs:write",
    "deployments": "jobs:write",
    "demo": "jobs:write",
    "examples": "jobs:write",
    "sample": "inference",
    "chat": "inference",
    "completions": "inference",
    "rollout": "inference",
    "keys": "admin",
    "members": "admin",
    "invitations": "admin",
    "projects": "admin",
    "project": "admin",
    "budgets": "admin",
    "judges": "admin",
    "webhooks": "admin",
    "trackers": "admin",
}
ADMIN_READS = frozenset({"keys", "invitations", "audit", "signing-secret", "webhooks"})
INFERENCE_READS = frozenset({"models", "deployments", "chat"})
ANY = frozenset({"me", "meta", "sign-in", "sign-out", "sign-in-links", "password-reset"})


def room(path: str) -> str:
    return path.removeprefix("/api").removeprefix("/v1").strip("/").partition("/")[0]


def needed(method: str, path: str) -> frozenset[Scope]:
    """The scopes of which any one permits the request; empty if every key may send it."""
    where = room(path)
    if where in ANY:
        return frozenset()
    if method not in SAFE:
        return frozenset({WRITES.get(where, "admin")})
    if where in ADMIN_READS:
        return frozenset({"admin"})
    return frozenset({"read", "inference"}) if where in INFERENCE_READS else frozenset({"read"})


def check(scopes: frozenset[str] | None, method: str, path: str) -> None:
    accepted = needed(method, path)
    if scopes is None or not accepted or accepted & scopes:
        return
    raise NotAllowed(
        f"This API key does not have the scope {' or '.join(sorted(accepted))}.",
        code="missing_scope",
        hint=f"It has: {', '.join(sorted(scopes))}. Create a key with the missing scope.",
    )

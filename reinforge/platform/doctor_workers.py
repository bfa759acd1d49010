"""Checks of the port, and of a running platform's broker and workers."""

from typing import Any, Literal

import httpx

from reinforge import settings
from reinforge.errors import ReinforgeError
from reinforge.platform.up import free_port

Finding = tuple[Literal["ok", "warn", "fail"], str, str | None]

_WITHIN_SECONDS = 15.0
_REMEDY = "See docs/workers.md for how to start a worker and what it needs."


def port_state(host: str, port: int, *, own: bool) -> Finding:
    if own:
        return "ok", f"the platform of this home serves at {host}:{port}", None
    try:
        free_port(host, port)
    except ReinforgeError as error:
        return "fail", error.message, error.hint
    return "ok", f"{host}:{port} is free", None


def running_platform(host: str, port: int) -> Finding:
    named = settings.server_url()
    url = (named or f"http://{host}:{port}").rstrip("/")
    try:
        parts = httpx.get(f"{url}/readyz", timeout=_WITHIN_SECONDS, trust_env=False).json()["parts"]
        states = {name: parts.get(name, {}) for name in ("broker", "worker", "calls")}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError, AttributeError) as error:
        if named is None:
            return "ok", f"no platform runs at {url}", None
        reason = f": {error}" if isinstance(error, httpx.HTTPError) else ""
        return "warn", f"no platform answers at {url}{reason}", "Start it, or check REINFORGE_URL."
    problems = [state["message"] for state in states.values() if state.get("message")]
    if not states["worker"].get("ready"):
        problems.append("no worker that trains is online: jobs stay queued")
    if not states["calls"].get("ready"):
        problems.append("no `worker calls` is online: jobs, rewards and models cannot be checked")
    problems += _notices(url)
    if problems:
        return "warn", f"{url}: " + "; ".join(problem.rstrip(".") for problem in problems), _REMEDY
    return (
        "ok",
        f"{states['worker'].get('online')} online at {url}, {states['calls'].get('online')} for calls",
        None,
    )


def _notices(url: str) -> list[str]:
    key = settings.api_key()
    if not key:
        return []
    try:
        answer = httpx.get(
            f"{url}/api/v1/workers",
            headers={"authorization": f"Bearer {key}"},
            timeout=_WITHIN_SECONDS,
            trust_env=False,
        )
        workers: list[dict[str, Any]] = answer.raise_for_status().json()["data"]
    except (httpx.HTTPError, ValueError, KeyError):
        return []
    return [
        f"{worker['hostname']} ({worker['id']}): {worker['notice']}"
        for worker in workers
        if worker.get("online") and worker.get("notice")
    ]

"""The calls `validate` and `score`: reward code in the sandbox, its outcome as plain JSON."""

from dataclasses import asdict
from typing import Any

from reinforge.errors import StateConflict, Unavailable
from worker.sandbox.client import SandboxClient
from worker.sandbox.limits import Timeouts
from worker.sandbox.outcome import RewardRow

_OURS = ("sandbox_unavailable", "sandbox_error")
DISABLED_HINT = (
    "Give the machine a jail (bubblewrap with user namespaces, or Landlock in Linux 6.2 or later), or set SANDBOX_URL "
    "to a sandbox on a Linux machine that has one. `reinforge doctor` says more. Graders without code work."
)
_HINT = "Start it with `python -m worker.sandbox` (`reinforge up` does); `reinforge doctor` says why it may not run."


def validate(sandbox: SandboxClient | None, payload: dict[str, Any]) -> dict[str, Any]:
    """{rewards: [{name, source, entry}]} → {rewards: [{name, entries, error}], jail}.

    entries: [{name, spelling, line}]; error: None or {code, message, line, column}. Raises Unavailable
    `sandbox_unavailable`.
    """
    client, jail = _proved(sandbox)
    found = []
    for reward in payload["rewards"]:
        outcome = client.validate(reward["source"], entry=reward.get("entry"))
        if outcome.status in _OURS:
            raise _unavailable(outcome.message)
        error: dict[str, Any] | None = None
        if outcome.status != "ok":
            error = {"code": outcome.status, "message": outcome.message}
            error |= {"line": outcome.line, "column": outcome.column}
        entries = [asdict(entry) for entry in outcome.entries]
        found.append({"name": reward["name"], "entries": entries, "error": error})
    return {"rewards": found, "jail": jail}


def score(sandbox: SandboxClient | None, payload: dict[str, Any]) -> dict[str, Any]:
    """{source, entry, granularity, timeout_seconds, rows: [{completion, item, prompt}]} → {jail, results, load_error}.

    results: one `RewardResult` per row, none when the source does not load (`load_error` says why). Raises
    Unavailable `sandbox_unavailable`.
    """
    client, jail = _proved(sandbox)
    rows = [
        RewardRow(
            prompt=row.get("prompt", ""), completion=row["completion"], item=row.get("item", {}), group=0
        )
        for row in payload["rows"]
    ]
    seconds = float(payload.get("timeout_seconds", 2.0))
    outcome = client.score(
        payload["source"],
        rows,
        entry=payload.get("entry"),
        granularity=payload.get("granularity", "sample"),
        timeouts=Timeouts(sample=seconds, call=max(30.0, min(120.0, 2 * seconds))),
    )
    if outcome.status in _OURS:
        raise _unavailable(outcome.message)
    name = str(payload.get("name") or "reward")
    load_error = None
    if outcome.status != "ok":
        where = f"line {outcome.line}: " if outcome.line else ""
        load_error = f"{where}{outcome.message}"
    return {
        "jail": outcome.jail or jail,
        "results": [
            {"name": name, "revision": payload.get("revision"), **asdict(row)} for row in outcome.rows
        ],
        "load_error": load_error,
    }


def _proved(sandbox: SandboxClient | None) -> tuple[SandboxClient, str | None]:
    if sandbox is None:
        raise _unavailable("neither SANDBOX_SOCKET nor SANDBOX_URL is set for this worker.")
    status = sandbox.status()
    if not status.available and status.probe:  # the daemon is there and has tried what this machine has
        raise StateConflict(
            f"Code rewards are off, because no jail holds here: {'; '.join(status.reasons)}",
            code="code_rewards_disabled",
            hint=DISABLED_HINT,
        )
    if not status.available:
        raise _unavailable("; ".join(status.reasons))
    return sandbox, status.jail


def _unavailable(why: str | None) -> Unavailable:
    return Unavailable(
        f"Reward code cannot run: {why or 'no jail holds on this machine'}",
        code="sandbox_unavailable",
        hint=_HINT,
    )

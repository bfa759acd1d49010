"""The calls `validate` and `score`: reward code in the sandbox, its outcome as plain JSON."""

from dataclasses import asdict
from typing import Any

from reinforge.dataset import tools_of
from reinforge.grading.multi import GRADER, runs_code
from reinforge.grading.samples import tool_fields
from worker.rpc.graders import validate_grader
from worker.rpc.sandbox import proved, unavailable
from worker.sandbox.client import SandboxClient
from worker.sandbox.limits import Timeouts
from worker.sandbox.outcome import RewardRow

_OURS = ("sandbox_unavailable", "sandbox_error")


def validate(sandbox: SandboxClient | None, payload: dict[str, Any]) -> dict[str, Any]:
    """{rewards: [{name, source, entry} or {name, grader}]} → {rewards: [{name, entries, error}], jail}.

    entries: [{name, spelling, line, columns}]; error: None or {code, message, line, column}; jail: None if no
    code had to be loaded. Raises Unavailable `sandbox_unavailable`.
    """
    code = any(
        "grader" not in reward or runs_code(GRADER.validate_python(reward["grader"]))
        for reward in payload["rewards"]
    )
    client, jail = proved(sandbox) if code else (None, None)
    validations = []
    for reward in payload["rewards"]:
        if "grader" in reward:
            validations.append({"name": reward["name"], **validate_grader(client, reward["grader"])})
            continue
        assert client is not None
        outcome = client.validate(reward["source"], entry=reward.get("entry"))
        if outcome.status in _OURS:
            raise unavailable(outcome.message)
        error: dict[str, Any] | None = None
        if outcome.status != "ok":
            error = {"code": outcome.status, "message": outcome.message}
            error |= {"line": outcome.line, "column": outcome.column}
        entries = [asdict(entry) for entry in outcome.entries]
        validations.append({"name": reward["name"], "entries": entries, "error": error})
    return {"rewards": validations, "jail": jail}


def score(sandbox: SandboxClient | None, payload: dict[str, Any]) -> dict[str, Any]:
    """{source, entry, granularity, timeout_seconds, rows: [{completion, item, prompt}]} → {jail, results,
    load_error}.

    results: one `RewardResult` per row, none if the source does not load (`load_error` says why). Raises
    Unavailable `sandbox_unavailable`.
    """
    client, jail = proved(sandbox)
    rows = [_row(row) for row in payload["rows"]]
    seconds = float(payload.get("timeout_seconds", 2.0))
    outcome = client.score(
        payload["source"],
        rows,
        entry=payload.get("entry"),
        granularity=payload.get("granularity", "sample"),
        timeouts=Timeouts(sample=seconds, call=max(30.0, min(120.0, 2 * seconds))),
    )
    if outcome.status in _OURS:
        raise unavailable(outcome.message)
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


def _row(raw: dict[str, Any]) -> RewardRow:
    item, completion = raw.get("item", {}), raw["completion"]
    sample = tool_fields(completion) if tools_of(item) else {}
    return RewardRow(raw.get("prompt", ""), completion, item, group=0, sample=sample)

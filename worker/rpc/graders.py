"""The calls `validate` and `score` for graders."""

import asyncio
import importlib.util
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, NoReturn

from reinforge.dataset import tools_of
from reinforge.errors import JobFailure, ReinforgeError
from reinforge.grading import similarity
from reinforge.grading.multi import GRADER, Grader, checkpoints, leaves, runs_code
from reinforge.grading.own_types import CheckpointGrader
from reinforge.grading.types import PythonGrader, TextSimilarity
from reinforge.reward_spec.judges import Judge
from worker.models.sources import ModelStore
from worker.rewards.assemble import Services, rater
from worker.rewards.base import RewardResult, Scorable
from worker.rewards.checkpoints import ModelProcess
from worker.rewards.programs.runner import RunPrograms
from worker.rewards.rater import Row
from worker.rewards.sandboxed import Call, sandbox_call
from worker.rewards.secrets import Secrets
from worker.rpc.sandbox import proved, unavailable
from worker.sandbox.client import SandboxClient
from worker.sandbox.limits import ProgramLimits
from worker.sandbox.outcome import ProgramRun, Validation


def validate_grader(client: SandboxClient | None, raw: dict[str, Any]) -> dict[str, Any]:
    """{entries: [{name: key, spelling: type, line: None, columns}], error}; client: where its code is
    loaded.

    columns: those that a part's code reads; the caller reads the templates.
    """
    grader: Grader = GRADER.validate_python(raw)
    columns: dict[str, list[str]] = {}
    error = _fault(client, grader, columns)
    entries = [
        {"name": key or grader.type, "spelling": part.type, "line": None, "columns": columns.get(key, [])}
        for key, part in leaves(grader).items()
    ]
    return {"entries": entries, "error": error}


def _fault(
    client: SandboxClient | None, grader: Grader, columns: dict[str, list[str]]
) -> dict[str, Any] | None:
    """Why the grader cannot be used, or None; fills in `columns` by the parts' keys."""
    for key, part in leaves(grader).items():
        where = f"graders.{key}: " if key else ""
        if isinstance(part, TextSimilarity) and (why := similarity.unavailable(part.evaluation_metric)):
            return {"code": "unavailable", "message": where + why, "line": None, "column": None}
        if isinstance(part, CheckpointGrader) and importlib.util.find_spec("torch") is None:
            message = f"{where}{part.type} needs torch, which this worker does not have"
            return {"code": "unavailable", "message": message, "line": None, "column": None}
        if isinstance(part, PythonGrader):
            assert client is not None
            outcome = client.validate(part.source, entry=part.entry)
            if outcome.status in ("sandbox_unavailable", "sandbox_error"):
                raise unavailable(outcome.message)
            if outcome.status != "ok":
                # The line is the code's, not the JSON's.
                line = f" (line {outcome.line} of its source)" if outcome.line else ""
                message = f"{where}{outcome.message}{line}"
                return {"code": outcome.status, "message": message, "line": None, "column": None}
            columns[key] = _columns_of(outcome, part.entry)
    return None


def _columns_of(outcome: Validation, entry: str | None) -> list[str]:
    """Columns of the function that would be called; None if the source has several and none is named."""
    called = [candidate for candidate in outcome.entries if entry is None or candidate.name == entry]
    return called[0].columns if len(called) == 1 else []


def grade(
    sandbox: SandboxClient | None, models: ModelStore, process: ModelProcess, payload: dict[str, Any]
) -> dict[str, Any]:
    """{grader, judges, keys, signing, base_model, rows: [{completion, item, prompt, sample}]} → {jail, results,
    load_error}. The rows are one group.

    Raises Unavailable `sandbox_unavailable`.
    """
    grader: Grader = GRADER.validate_python(payload["grader"])
    client, jail = proved(sandbox) if runs_code(grader) else (None, None)
    name = str(payload.get("name") or "reward")
    try:
        services = _services(client, models, process, grader, payload)
    except ReinforgeError as error:  # a missing checkpoint
        return {"jail": jail, "results": [], "load_error": _described(error)}
    try:
        rows = [_row(row) for row in payload["rows"]]
        results = asyncio.run(_rated(grader, services, rows))
    except JobFailure as error:
        if error.code == "sandbox_unavailable":
            raise unavailable(error.message) from error
        return {"jail": jail, "results": [], "load_error": _described(error)}
    except ReinforgeError as error:
        return {"jail": jail, "results": [], "load_error": _described(error)}
    finally:
        services.close()
    return {
        "jail": jail,
        "results": [asdict(result) | {"name": name} for result in results],
        "load_error": None,
    }


async def _rated(grader: Grader, services: Services, rows: list[Row]) -> list[RewardResult]:
    return await rater(grader, services).rate(rows)


def _services(
    client: SandboxClient | None,
    models: ModelStore,
    process: ModelProcess,
    grader: Grader,
    payload: dict[str, Any],
) -> Services:
    paths = {name: str(models.resolve(name)) for name in checkpoints(grader) if name}
    if (base := payload.get("base_model")) is not None:
        paths[""] = str(models.resolve(str(base), added=True))
    call: Call = _no_code
    run_programs: RunPrograms = _no_programs
    if client is not None:
        call, run_programs = sandbox_call(client), client.run_programs
    return Services(
        call=call,
        run_programs=run_programs,
        judges={name: Judge.model_validate(judge) for name, judge in payload.get("judges", {}).items()},
        secrets=Secrets(payload.get("keys") or {}, payload.get("signing")),
        checkpoints=paths,
        shared_models=process,
    )


def _no_code(*_: object) -> NoReturn:
    raise AssertionError("a grader without code asks for a sandbox")


def _no_programs(source: str, runs: Sequence[ProgramRun], limits: ProgramLimits) -> NoReturn:
    raise AssertionError("a grader without programs asks for a sandbox")


def _row(raw: dict[str, Any]) -> Row:
    prompt = raw.get("prompt") or ""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    item = raw.get("item") or {}
    scorable = Scorable.of_row(raw["completion"], item, messages, tools_of(item))
    return Row(replace(scorable, sample={**scorable.sample, **(raw.get("sample") or {})}), 0)


def _described(error: ReinforgeError) -> str:
    return f"{error.message} {error.hint or ''}".rstrip()

"""Imports a fine-tuning job of OpenAI, Azure or Bedrock, or the request that created it."""

import json
from typing import Any

from pydantic import ValidationError

from reinforge.base_models.config import read_hidden_size
from reinforge.errors import InvalidInput
from reinforge.grading.multi import columns, judges, leaves
from reinforge.grading.types import PythonGrader
from reinforge.imports import grader as graders
from reinforge.imports import hyperparameters
from reinforge.imports.project import ImportedProject
from reinforge.imports.reward_file import read_keys
from reinforge.offline.train import model_folder
from reinforge.parsing.python_source import parse
from reinforge.schemas.openai_jobs import Hyperparameters

_ASSUMED_ROWS = hyperparameters.AUTO_STEPS * hyperparameters.AUTO_BATCH
_PROMPTS = ("messages", "prompt", "tools")


def project(raw: Any, filename: str, model: str, rows: int | None) -> ImportedProject:
    method = raw.get("method") if isinstance(raw, dict) else None
    settings = method.get("reinforcement") if isinstance(method, dict) else None
    if not isinstance(settings, dict) or not isinstance(settings.get("grader"), dict):
        kind = method.get("type") if isinstance(method, dict) else None
        raise InvalidInput(
            f"{filename} has no grader under method.reinforcement.",
            code="not_a_reinforcement_job",
            param="file",
            hint=f"A {kind} job has nothing that could reward completions." if kind else None,
        )
    imported = ImportedProject(origin=f"{raw.get('id') or filename}, a fine-tuning job", job={"model": model})
    _data(imported, raw)
    imported.job["rewards"] = [_reward(imported, settings["grader"])]
    _numbers(imported, settings.get("hyperparameters") or {}, rows)
    for name in ("seed", "metadata"):
        if raw.get(name):
            imported.job[name] = raw[name]
    if suffix := raw.get("user_provided_suffix") or raw.get("suffix"):
        imported.job["name"] = str(suffix)
    if raw.get("model") and raw["model"] != model:
        imported.notes.append(f"The model was {raw['model']}, which is hosted: here {model} is trained.")
    if settings.get("response_format"):
        imported.files["response_format.json"] = json.dumps(settings["response_format"], indent=2) + "\n"
        imported.notes.append(
            "response_format.json is kept for you and not enforced while sampling: say in the prompt what is wanted."
        )
    if raw.get("integrations"):
        imported.notes.append("Integrations are not carried over.")
    return imported


def _data(imported: ImportedProject, raw: dict[str, Any]) -> None:
    imported.job["data"] = {"dataset": "data.jsonl"}
    files = [f"training_file {raw['training_file']}"] if raw.get("training_file") else []
    if raw.get("validation_file"):
        imported.job["data"]["held_out"] = "heldout.jsonl"
        files.append(f"validation_file {raw['validation_file']}")
    if files:
        imported.notes.append(f"The rows were {' and '.join(files)}: the same JSONL can be used here.")


def _reward(imported: ImportedProject, grader: dict[str, Any]) -> dict[str, Any]:
    parsed = graders.parse(grader)
    name = graders.reward_name(parsed.name)
    read = set(columns(parsed))
    for part in leaves(parsed).values():
        if isinstance(part, PythonGrader):
            read |= read_keys(parse(part.source), {"item"})
    imported.columns = sorted(read - set(_PROMPTS))
    for judge in sorted(judges(parsed)):
        imported.notes.append(
            f"The grader asks {judge}: `reinforge judge add {judge} --base-url … --model …` on a server, "
            "`judges:` here for `reinforge train`."
        )
    if isinstance(parsed, PythonGrader):
        imported.files["reward.py"] = parsed.source.rstrip("\n") + "\n"
        return {"type": "python", "name": name, "path": "reward.py", "on_error": "zero"}
    imported.files["grader.json"] = json.dumps(grader, indent=2, ensure_ascii=False) + "\n"
    return {"type": "grader", "name": name, "path": "grader.json", "on_error": "zero"}


def _hidden_size(model: str) -> int | None:
    try:
        return read_hidden_size(model_folder(model))
    except InvalidInput:
        return None


def _numbers(imported: ImportedProject, raw: dict[str, Any], rows: int | None) -> None:
    settings = {
        name: value
        for name, value in raw.items()
        if name in Hyperparameters.model_fields
        or name in hyperparameters.OURS
        or name in hyperparameters.ALIASES
    }
    # Our own server shows both a number and its multiplier.
    for ours, theirs in hyperparameters.EITHER.items():
        if ours in settings:
            settings.pop(theirs, None)
    try:
        requested = Hyperparameters.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, (hyperparameters.WHERE, *first["loc"])))
        raise InvalidInput(f"{where}: {first['msg']}", code="invalid_input", param=where) from error
    model = imported.job["model"]
    size = _hidden_size(model)
    multiplier = requested.learning_rate_multiplier
    if multiplier is not None and size is None:
        requested.learning_rate_multiplier = None
        imported.notes.append(
            f"learning_rate_multiplier was {multiplier:g}, of the automatic rate: set optimizer.learning_rate to "
            f"{multiplier:g} × the number that `reinforge models list --json` shows for {model}."
        )
    resolved = hyperparameters.resolve(requested, rows or _ASSUMED_ROWS, model, size)
    for part, value in resolved.spec.items():
        imported.job[part] = imported.job.get(part, {}) | value if isinstance(value, dict) else value
    if rows is None and requested.n_epochs is not None:
        imported.job["limits"]["steps"] = hyperparameters.AUTO_STEPS
        batch = imported.job["rollout"]["prompts_per_step"]
        imported.notes.append(
            f"n_epochs was {requested.n_epochs}: set limits.steps to rows × {requested.n_epochs} / {batch} "
            "(--data counts)."
        )
    if dropped := sorted(set(raw) - set(settings)):
        imported.notes.append(f"Left out, because there are no such settings here: {', '.join(dropped)}.")
    if requested.reasoning_effort != "default":
        imported.notes.append("reasoning_effort has no effect: say how long to think in the prompt.")

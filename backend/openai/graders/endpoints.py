"""Endpoints of /v1/fine_tuning/alpha/graders."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter

from backend.access.auth import Writer
from backend.data.database import DatabaseDep
from backend.judges import service as judges
from backend.openai.conventions import OpenAIRoute
from backend.openai.graders import response
from backend.rewards import service as rewards
from backend.rewards.service import Account, RewardSource
from backend.rpc.client import CallsDep
from reinforge.errors import InvalidInput
from reinforge.grading.multi import Grader, leaves
from reinforge.grading.multi import judges as judges_of
from reinforge.grading.source import parse_grader
from reinforge.grading.types import PythonGrader
from reinforge.schemas.openai_graders import GraderRun, GraderRunResult, GraderValidate, GraderValidated
from reinforge.schemas.resources import RewardTest, RewardTestRow, written

router = APIRouter(prefix="/v1/fine_tuning/alpha/graders", tags=["openai"], route_class=OpenAIRoute)

LONGEST_SAMPLE = 262_144


@router.post("/run", operation_id="runGrader")
async def run(body: GraderRun, database: DatabaseDep, calls: CallsDep, who: Writer) -> GraderRunResult:
    """Score one sample now. A grader error is reported by a flag in the response, with reward 0."""
    with _named_fault():
        raw_grader = _named(body.grader)
        grader = parse_grader(written(None, raw_grader), "grader")
        await _check_judges(database, who.project_id, grader)
    rows = [RewardTestRow(completion=body.model_sample[:LONGEST_SAMPLE], item=body.item)]
    began = time.monotonic()
    answer = await rewards.test(
        calls,
        written(None, raw_grader),
        None,
        "sample",
        raw_grader["name"],
        RewardTest(rows=rows, timeout_seconds=2.0),
        Account(who.project_id),
    )
    if answer.load_error is None:
        result = answer.results[0]
    else:
        code = any(isinstance(part, PythonGrader) for part in leaves(grader).values())
        result = response.failed("load_error" if code else "other_error", None, answer.load_error)
    seconds, cut = time.monotonic() - began, len(body.model_sample) > LONGEST_SAMPLE
    return response.answer(raw_grader["name"], grader.type, result, seconds, truncated=cut)


@router.post("/validate", operation_id="validateGrader")
async def validate(
    body: GraderValidate, database: DatabaseDep, calls: CallsDep, who: Writer
) -> GraderValidated:
    """Validate a grader. Returns it, with a name if it had none, or 400 with the field to change."""
    with _named_fault():
        grader = _named(body.grader)
        text = written(None, grader)
        await _check_judges(database, who.project_id, parse_grader(text, "grader"))
        await rewards.validate(calls, [RewardSource(grader["name"], text, None, "grader")])
    return GraderValidated(grader=grader)


def _named(grader: dict[str, Any]) -> dict[str, Any]:
    name = grader.get("name")
    return grader if isinstance(name, str) and name else {**grader, "name": f"grader-{secrets.token_hex(6)}"}


async def _check_judges(database: DatabaseDep, project_id: str, grader: Grader) -> None:
    async with database.transaction() as session:
        missing = await judges.missing(session, project_id, judges_of(grader))
    if missing:
        raise InvalidInput(
            f"The project has no judge {missing[0]!r}.",
            code="unknown_judge",
            param="grader.model",
            hint="Add it with POST /api/v1/judges (`reinforge judge add`); `model` names a judge.",
        )


@contextmanager
def _named_fault() -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        if error.code == "invalid_reward" and error.errors:
            error.code = str(error.errors[0].get("code") or error.code)
        raise

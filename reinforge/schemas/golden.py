"""Golden cases of a reward: completions and the rewards that they should get."""

from typing import Any, Literal

from pydantic import Field

from reinforge.evaluation.golden import Expectation, GoldenOutcome
from reinforge.schemas.common import Request, Response, Timestamp

MOST_CASES = 500


class Origin(Request):
    job: str
    split: Literal["train", "held_out"] = "train"
    step: int
    prompt_no: int
    sample_no: int


class GoldenCaseCreate(Request):
    item: dict[str, Any] = {}
    prompt: str | list[dict[str, Any]] = ""
    completion: str = Field(max_length=262_144)
    expect: Expectation
    note: str | None = Field(default=None, max_length=400)
    origin: Origin | None = None


class GoldenCasesCreate(Request):
    cases: list[GoldenCaseCreate] = Field(min_length=1, max_length=MOST_CASES)


class StoredGoldenCase(Response):
    object: Literal["golden_case"] = "golden_case"
    id: str
    reward: str
    item: dict[str, Any]
    prompt: str | list[dict[str, Any]]
    completion: str
    expect: Expectation
    note: str | None = None
    origin: Origin | None = None
    created_by: str | None = None
    created_at: Timestamp


class GoldenCaseList(Response):
    object: Literal["list"] = "list"
    data: list[StoredGoldenCase]


class GoldenRunCreate(Request):
    source: str | None = Field(default=None, max_length=262_144)
    """Code that is not stored; default the reward's newest revision."""
    entry: str | None = None
    revision: int | None = Field(default=None, ge=1)
    timeout_seconds: float = Field(default=2.0, gt=0, le=60)


class GoldenResult(Response):
    case: str
    outcome: GoldenOutcome


class GoldenRun(Response):
    object: Literal["golden_run"] = "golden_run"
    reward: str
    revision: int | None
    passed: bool
    results: list[GoldenResult]
    load_error: str | None = None
    jail: str | None = None

"""RPCs `validate` (load rewards) and `score` (score completions with one reward)."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter, field_serializer

from reinforge.dataset import Message
from reinforge.grading.multi import Grader
from reinforge.reward_spec.judges import Judge
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.rewards import RewardEntry
from reinforge.schemas.rpc.base import Rpc, RpcModel


class _WithGrader(RpcModel):
    grader: Grader

    @field_serializer("grader")
    def _all_fields(self, grader: Grader) -> dict[str, Any]:
        return grader.model_dump(mode="json")


class NamedCode(RpcModel):
    name: str
    source: str
    entry: str | None = None


class NamedGrader(_WithGrader):
    name: str


def _form(value: Any) -> Literal["code", "grader"]:
    has_grader = "grader" in value if isinstance(value, dict) else hasattr(value, "grader")
    return "grader" if has_grader else "code"


RewardDefinition = Annotated[
    Annotated[NamedCode, Tag("code")] | Annotated[NamedGrader, Tag("grader")], Discriminator(_form)
]


class ValidateRequest(RpcModel):
    rewards: list[RewardDefinition]


class LoadError(RpcModel):
    code: str | None = None
    message: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None


class ValidatedReward(RpcModel):
    name: str
    entries: list[RewardEntry] = []
    error: LoadError | None = None


class ValidateResult(RpcModel):
    """`rewards` are in the order of the request. `jail` is None if no code was loaded."""

    rewards: list[ValidatedReward]
    jail: str | None = None


class ScoreRow(RpcModel):
    completion: str
    item: dict[str, Any] = {}
    prompt: str | list[Message] = ""
    sample: dict[str, Any] = {}
    """Further fields of OpenAI's `sample`."""


class _Scoring(RpcModel):
    name: str = "reward"
    rows: list[ScoreRow]


class CodeScoring(_Scoring):
    source: str
    entry: str | None = None
    granularity: Literal["sample", "group", "batch"] = "sample"
    timeout_seconds: float = 2.0
    revision: str | None = None


class GraderScoring(_Scoring, _WithGrader):
    judges: dict[str, Judge] = {}
    keys: dict[str, str] = Field(default={}, repr=False)
    signing: str | None = Field(default=None, repr=False)
    base_model: str | None = None


class ScoreResult(RpcModel):
    """`results` has one entry per row, and is empty with a `load_error`."""

    jail: str | None = None
    results: list[RewardResult] = []
    load_error: str | None = None


ScoreRequest = CodeScoring | GraderScoring
_SCORE_REQUEST: TypeAdapter[ScoreRequest] = TypeAdapter(
    Annotated[
        Annotated[CodeScoring, Tag("code")] | Annotated[GraderScoring, Tag("grader")], Discriminator(_form)
    ]
)
VALIDATE = Rpc("validate", TypeAdapter(ValidateRequest), TypeAdapter(ValidateResult))
SCORE: Rpc[ScoreRequest, ScoreResult] = Rpc("score", _SCORE_REQUEST, TypeAdapter(ScoreResult))

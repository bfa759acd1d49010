"""Replays, stand-alone evaluations, labels and calibrations."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from reinforge.evaluation.calibration import CalibrationReport
from reinforge.evaluation.replay import ReplayReport
from reinforge.evaluation.summary import EvaluationSummary, RowScores
from reinforge.schemas.common import Request, Response, Timestamp
from reinforge.schemas.datasets import PromptView
from reinforge.schemas.jobs import JobError, RewardResult

MOST_COMPLETIONS = 20_000
MOST_ROWS = 5000


class ReplayCreate(Request):
    """Scores the job's completions again, with one of its rewards replaced by a stored revision or by code."""

    kind: Literal["replay"] = "replay"
    job: str
    reward: str | None = None
    """Name of one of the job's rewards; needed if it has several."""
    stored: str | None = None
    """Id of a stored reward (`rew_…`); default the one the job used."""
    revision: int | None = Field(default=None, ge=1)
    """Revision of the stored reward; default the newest."""
    source: str | None = Field(default=None, max_length=262_144)
    entry: str | None = None
    completions: int = Field(default=2000, ge=1, le=MOST_COMPLETIONS)
    """Approximate maximum of completions, taken as whole groups spread over the steps."""


class SamplingSettings(Request):
    rows: int = Field(default=200, ge=1, le=MOST_ROWS)
    """Maximum rows of the split, spread evenly."""
    split: Literal["all", "train", "held_out"] = "all"
    held_out_rows: int | None = Field(default=None, ge=0, le=100_000)
    """How many rows to hold out. With a job's number, `split_by` and `seed`, the split is the job's."""
    split_by: Literal["row", "prompt"] = "row"
    """`prompt`: rows with equal prompts are all held out, or none is, as in jobs."""
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    samples_per_row: int = Field(default=4, ge=1, le=16)
    max_tokens: int = Field(default=256, ge=1, le=4096)
    temperature: float = Field(default=1.0, ge=0, le=10)
    top_p: float = Field(default=1.0, gt=0, le=1)
    stop: list[str] = Field(default_factory=list, max_length=16)
    pass_above: float = Field(default=0.5, allow_inf_nan=False)
    timeout_seconds: float = Field(default=2.0, gt=0, le=60)
    """Maximum wall time of the reward per completion."""


class StandAloneCreate(SamplingSettings):
    """An evaluation of a base model, adapter or checkpoint on a dataset with one reward."""

    kind: Literal["stand_alone"]
    name: str | None = Field(default=None, min_length=1, max_length=100)
    """Name of the evaluation; a gate uses the newest evaluation of a name."""
    model: str | None = Field(default=None, max_length=200)
    """Id of a base model."""
    adapter: str | None = Field(default=None, max_length=100)
    """Id of an adapter, `adp_…`."""
    checkpoint: str | None = Field(default=None, max_length=100)
    """Id of a checkpoint, `ftckpt_…`."""
    dataset: str = Field(max_length=100)
    prompt_view: PromptView | None = None
    """How rows become prompts; default: the dataset's setting."""
    reward: str | None = Field(default=None, max_length=100)
    """Id of a stored reward, `rew_…`; needed without `source`."""
    revision: int | None = Field(default=None, ge=1)
    """Revision of the stored reward; default the newest."""
    source: str | None = Field(default=None, min_length=1, max_length=262_144)
    """Code, or a grader's JSON as text."""
    entry: str | None = Field(default=None, max_length=200)
    granularity: Literal["sample", "group"] = "sample"

    @model_validator(mode="after")
    def one_of_each(self) -> Self:
        if sum(policy is not None for policy in (self.model, self.adapter, self.checkpoint)) != 1:
            raise ValueError("give exactly one of `model`, `adapter` and `checkpoint`")
        if (self.reward is None) == (self.source is None):
            raise ValueError("give exactly one of `reward` (stored) and `source` (code)")
        if self.rows * self.samples_per_row > MOST_COMPLETIONS:
            raise ValueError(f"rows × samples_per_row may be {MOST_COMPLETIONS:,} at most")
        return self


def _kind(body: Any) -> str:
    kind = body.get("kind", "replay") if isinstance(body, dict) else getattr(body, "kind", "replay")
    return kind if isinstance(kind, str) else "replay"


EvaluationCreate = Annotated[
    Annotated[ReplayCreate, Tag("replay")] | Annotated[StandAloneCreate, Tag("stand_alone")],
    Discriminator(_kind),
]


class Evaluation(Response):
    """A replay has `job` and `report`; a stand-alone evaluation has `settings`, `summary` and the policy that
    it samples.
    """

    object: Literal["evaluation"] = "evaluation"
    id: str
    kind: Literal["replay", "stand_alone"]
    name: str | None = None
    job: str | None = None
    model: str | None = None
    adapter: str | None = None
    checkpoint: str | None = None
    dataset: str | None = None
    dataset_sha256: str | None = None
    """None for older evaluations."""
    prompt_view: PromptView | None = None
    """None for older evaluations."""
    settings: SamplingSettings | None = None
    summary: EvaluationSummary | None = None
    reward: str
    """Name of the reward in the job, or of the stored reward."""
    stored: str | None = None
    revision: int | None = None
    entry: str | None = None
    """Requested function; None for the default."""
    reward_sha256: str | None = None
    """None for older evaluations."""
    status: Literal["running", "succeeded", "failed", "cancelled"]
    done: int
    total: int
    report: ReplayReport | None = None
    error: JobError | None = None
    created_by: str | None = None
    created_at: Timestamp
    finished_at: Timestamp | None = None


class EvaluatedRow(RowScores):
    prompt: str | None = None
    """First 300 characters of the prompt's last message; null for older evaluations."""
    answer: str | None = None
    """The reference answer that the dataset declares, at most 300 characters."""


class EvaluationRows(Response):
    """Rewards of each row, in the order of rows, for comparisons."""

    object: Literal["list"] = "list"
    data: list[EvaluatedRow]
    pass_above: float


class EvaluatedCompletion(Response):
    row: int
    sample: int
    text: str
    tokens: int
    finish_reason: str | None = None
    result: RewardResult


class EvaluatedCompletions(Response):
    object: Literal["list"] = "list"
    data: list[EvaluatedCompletion]


class LabelPlace(Request):
    split: Literal["train", "held_out"] = "train"
    step: int = Field(ge=0)
    prompt_no: int = Field(ge=0)
    sample_no: int = Field(ge=0)


class LabelCreate(LabelPlace):
    right: bool | None
    """Whether the completion is right; null removes the label."""


class LabelsCreate(Request):
    labels: list[LabelCreate] = Field(min_length=1, max_length=500)


class LabelView(Response):
    split: Literal["train", "held_out"]
    step: int
    prompt_no: int
    sample_no: int
    right: bool
    created_by: str | None = None
    created_at: Timestamp


class LabelList(Response):
    object: Literal["list"] = "list"
    data: list[LabelView]


class Calibration(Response):
    object: Literal["calibration"] = "calibration"
    job: str
    reward: str
    pass_above: float
    report: CalibrationReport
    disagreements: list[LabelView]
    """Labelled completions that the reward judges differently."""
    unlabelled: list[LabelPlace]
    """Completions to label next, spread over steps; about half of them pass."""

"""Records that a trainer reports, numbered per attempt.

The backend applies them idempotently by `(job, attempt, sequence)`. Large data goes into
*blobs* (`blobs/<sha256>` in the run folder), uploaded before the record that names them.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from reinforge.dataset.prompt_head import ANSWER_CHARACTERS, PROMPT_CHARACTERS
from reinforge.reward_spec.judges import Judge

Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""Range of a 32-bit database column."""
Large = Annotated[int, Field(ge=0, le=2**63 - 1)]


CompletionEnd = Literal[
    "stop", "length", "cancelled", "environment", "max_turns", "max_tool_calls", "context"
]
"""Why a completion ended. `environment`: its environment ended it; `context`: the model's context is full."""


class RecordModel(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class Blob(RecordModel):
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: Large


class BaseRecord(RecordModel):
    sequence: int = Field(ge=1, le=2**31 - 1)
    """Number of the record: from 1, without gaps inside an attempt."""
    ts: float = Field(allow_inf_nan=False)
    """Unix seconds on the worker."""


class Phase(BaseRecord):
    kind: Literal["phase"] = "phase"
    phase: Literal["loading", "starting_engine", "evaluating", "generating", "scoring", "updating", "saving"]
    step: Count
    """Step under way, from 1; 0 before the first."""
    done: Large | None = None
    total: Large | None = None
    rows: list[Count] = Field(default_factory=list)
    """First dataset rows whose completions or rewards are awaited."""


class Started(BaseRecord):
    kind: Literal["started"] = "started"
    step: Count
    """Last completed step: 0, or the resume state's."""
    steps: Count
    facts: dict[str, Any] = Field(default_factory=dict)
    """Parameters, trainable parameters, device, engine, jail, versions, memory after loading (GiB),
    maximum tokens of a micro-batch, gradient checkpointing. Sent again when they change.
    """


class StepMetrics(BaseRecord):
    kind: Literal["step_metrics"] = "step_metrics"
    step: Count
    values: dict[str, float | None]
    """Metric key → value; None: not defined at this step (never NaN)."""


class CompletionSummary(RecordModel):
    """Summary of one completion; text and tensors are in the step's Parquet blob."""

    prompt_no: Count
    sample_no: Count
    prompt_hash: str
    row_index: Count
    reward: float | None
    """None if scoring failed (see `error`); the completion is then not part of group statistics and loss."""
    advantage: float | None
    length: Count
    """Tokens of the policy, including the end token."""
    finish_reason: CompletionEnd
    error: str | None = None
    """Status of the first failed reward, from the list in `worker.rewards`."""
    text: str = ""
    """First 2,000 characters of the completion."""
    turns: Count = 1
    """Turns of the policy."""
    tool_calls: Count = 0
    tool_errors: Count = 0
    """Tool calls whose status is not `ok`."""
    call_keys: list[str] = Field(default_factory=list)
    """Keys of the tool calls, from `reinforge.tools.call_keys`."""


class PromptHead(RecordModel):
    """Beginning of a dataset row's prompt, and its reference answer."""

    row_index: Count
    prompt: str = Field(max_length=PROMPT_CHARACTERS)
    answer: str | None = Field(default=None, max_length=ANSWER_CHARACTERS)


class Rollouts(BaseRecord):
    """Scored completions of one step or evaluation."""

    kind: Literal["rollouts"] = "rollouts"
    step: Count
    split: Literal["train", "held_out"]
    blob: Blob
    """zstd Parquet, columns as in `worker.training.reporting.rollout_table`."""
    rows: list[CompletionSummary]
    revisions: dict[str, str] = Field(default_factory=dict)
    """Reward name → `rew_…@revision` (or hash)."""
    prompts: list[PromptHead] = Field(default_factory=list)
    """Beginnings of the prompts that the attempt has not reported in this split before."""


class Evaluated(BaseRecord):
    """Held-out evaluation after `step` steps (0: base model)."""

    kind: Literal["evaluated"] = "evaluated"
    step: Count
    values: dict[str, float | None]
    rows: Count
    samples_per_row: Count


class CheckpointSaved(BaseRecord):
    """A checkpoint was saved: a servable adapter, as a PEFT folder in an uncompressed tar."""

    kind: Literal["checkpoint_saved"] = "checkpoint_saved"
    step: Count
    blob: Blob
    held_out_reward: float | None
    final: bool = False


class ResumeStateSaved(BaseRecord):
    """A resume state was saved: everything the next attempt needs to continue after `step`."""

    kind: Literal["resume_state_saved"] = "resume_state_saved"
    step: Count
    blob: Blob


class LogLine(BaseRecord):
    kind: Literal["log"] = "log"
    level: Literal["debug", "info", "warning", "error"]
    message: str
    step: Count | None = None


class Finding(BaseRecord):
    kind: Literal["finding"] = "finding"
    code: str
    severity: Literal["info", "warning", "error"]
    step: Count
    message: str
    hint: str | None = None
    evidence: dict[str, Any] = Field(default_factory=dict)


class Ended(BaseRecord):
    kind: Literal["ended"] = "ended"
    outcome: Literal["succeeded", "failed", "cancelled", "paused"]
    reason: str | None = None
    """Stable code, for example `reward_errors`, `out_of_memory`, `disk_full`, `model_load_failed`."""
    message: str | None = None
    hint: str | None = None
    step: Count = 0
    traceback: str | None = None


class RewardChange(RecordModel):
    """Replacement of a reward by another revision, under the same name, from some step on."""

    type: Literal["reward"] = "reward"
    name: str
    kind: Literal["python", "grader"] = "python"
    source: str
    entry: str | None = None
    revision: str


class SettingChange(RecordModel):
    """Replacement of a number in the specification from some step on (`reinforge.algorithm.live_settings`)."""

    type: Literal["setting"] = "setting"
    setting: str
    value: float
    before: float
    """Value when the change was requested."""


Change = Annotated[RewardChange | SettingChange, Field(discriminator="type")]
CHANGE: TypeAdapter[Change] = TypeAdapter(Change)


class ChangeApplied(BaseRecord):
    """A requested change takes effect at `step`. A later attempt that repeats the change reports it again."""

    kind: Literal["change_applied"] = "change_applied"
    change: str
    step: Count


class CommandApplied(BaseRecord):
    """A command was executed after `step` completed steps."""

    kind: Literal["command_applied"] = "command_applied"
    command: str
    step: Count


Record = Annotated[
    Phase
    | Started
    | StepMetrics
    | Rollouts
    | Evaluated
    | CheckpointSaved
    | ResumeStateSaved
    | LogLine
    | Finding
    | ChangeApplied
    | CommandApplied
    | Ended,
    Field(discriminator="kind"),
]
RECORD: TypeAdapter[Record] = TypeAdapter(Record)


class Command(RecordModel):
    id: str
    kind: Literal["cancel", "pause", "checkpoint", "change"]
    change: Change | None = None
    """The change, for kind `change`; `id` is then the id of the change."""


class ScheduledChange(RecordModel):
    """Change applied by an earlier attempt, to repeat at the same step."""

    id: str
    step: int
    change: Change


Carried = Literal["weights", "optimizer", "algorithm", "critic", "reference", "order"]
"""State that a fork takes over. `algorithm`: what the algorithm keeps between steps; `reference`: a KL
reference other than the base model; `order`: order of prompts, and sampling noise.
"""


class ForkStart(RecordModel):
    """Start of a fork. `resume_path` then holds another job's resume state or, if `carried` lacks
    `optimizer`, its checkpoint.
    """

    step: int
    carried: list[Carried]


class RewardCode(RecordModel):
    name: str
    path: str
    revision: str
    """`rew_…@3`, or `sha256:…` offline."""
    kind: Literal["python", "grader"] = "python"


class RunManifest(RecordModel):
    """`run.json`: everything a trainer needs, by local paths."""

    job: str
    attempt: int
    spec: dict[str, Any]
    """The resolved `JobSpec`."""
    model_path: str
    dataset_path: str
    """Rows as uploaded; the suffix (`.jsonl`, `.csv`, `.parquet`) is the format."""
    held_out_path: str | None = None
    dataset_numbers: list[str] = Field(default_factory=list)
    """Columns of CSV that rewards read as numbers."""
    held_out_numbers: list[str] = Field(default_factory=list)
    rewards: list[RewardCode]
    sandbox_socket: str
    judges: dict[str, Judge] = Field(default_factory=dict)
    """Judge → connection; API keys are passed separately (`worker.rewards.secrets`)."""
    judge_cache: str | None = None
    """File that caches judges' answers; None: they are cached in memory."""
    tool_record: str | None = None
    """File with results of tools on servers; None: a resumed step calls the tools again."""
    checkpoints: dict[str, str] = Field(default_factory=dict)
    resume_path: str | None = None
    start_path: str | None = None
    """Archive of the adapter that training starts from."""
    fork: ForkStart | None = None
    changes: list[ScheduledChange] = Field(default_factory=list)
    """Changes in the order of application."""
    first_sequence: int = 1

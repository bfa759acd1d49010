"""What a trainer reports: a closed set of records, numbered per attempt.

A record is written once to the run folder's `records.jsonl` and once to the pipe of whoever started
the trainer; the backend applies it idempotently by `(job, attempt, sequence)`. Bulk never travels inside a record:
it names a *blob*, an immutable file in the run folder under `blobs/<sha256>`, uploaded before the record is.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from reinforge.reward_spec.judges import Judge

Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""What the database has a column of 32 bits for."""
Large = Annotated[int, Field(ge=0, le=2**63 - 1)]


class RecordModel(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="null")


class Blob(RecordModel):
    """An immutable file, named by its content."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: Large


class BaseRecord(RecordModel):
    sequence: int = Field(ge=1, le=2**31 - 1)
    """1, 2, 3 … without gaps inside an attempt."""
    ts: float = Field(allow_inf_nan=False)
    """Unix seconds on the worker."""


class Phase(BaseRecord):
    """The trainer is doing something else now; drives the progress line."""

    kind: Literal["phase"] = "phase"
    phase: Literal["loading", "starting_engine", "evaluating", "generating", "scoring", "updating", "saving"]
    step: Count
    """The step under way, 1-based; 0 before the first."""
    done: Large | None = None
    total: Large | None = None
    rows: list[Count] = Field(default_factory=list)
    """Rows of the dataset that are waited for, the first few."""


class Started(BaseRecord):
    """The policy is loaded; the job runs."""

    kind: Literal["started"] = "started"
    step: Count
    """Last completed step: 0, or where the resume state stood."""
    steps: Count
    facts: dict[str, Any] = Field(default_factory=dict)
    """Parameters, trainable parameters, device, engine, jail, versions, memory once loaded (GiB), most tokens of a
    micro-batch, whether gradient checkpointing is on. Told again when one turns out otherwise."""


class StepMetrics(BaseRecord):
    """All metrics of one completed step, by the names in `reinforge.metrics`."""

    kind: Literal["step_metrics"] = "step_metrics"
    step: Count
    values: dict[str, float | None]
    """None: not defined at this step (never NaN)."""


class RowStatus(RecordModel):
    """The narrow row of one completion; its text and tensors are in the step's Parquet blob."""

    prompt_no: Count
    sample_no: Count
    prompt_hash: str
    row_index: Count
    """Index of the row in the dataset."""
    reward: float | None
    """None: no reward (see `error`), so outside its group's statistics and the loss."""
    advantage: float | None
    length: Count
    """Tokens, the end token included."""
    finish_reason: Literal["stop", "length", "cancelled"]
    error: str | None = None
    """Status of the first reward that failed, from the closed list in `worker.rewards`."""
    text: str = ""
    """First 2,000 characters of the completion, for search and lists."""


class Rollouts(BaseRecord):
    """The scored completions of one step (or of one evaluation)."""

    kind: Literal["rollouts"] = "rollouts"
    step: Count
    split: Literal["train", "held_out"]
    blob: Blob
    """zstd Parquet, columns as in `worker.training.reporting.rollout_table`."""
    rows: list[RowStatus]
    revisions: dict[str, str] = Field(default_factory=dict)
    """Reward name → `rew_…@revision` (or its hash) that scored these rows."""


class Evaluated(BaseRecord):
    """Held-out evaluation of the policy after `step` steps (0: the base model)."""

    kind: Literal["evaluated"] = "evaluated"
    step: Count
    values: dict[str, float | None]
    rows: Count
    samples_per_row: Count


class CheckpointSaved(BaseRecord):
    """An adapter that can be served, as a PEFT folder in an uncompressed tar."""

    kind: Literal["checkpoint_saved"] = "checkpoint_saved"
    step: Count
    blob: Blob
    held_out_reward: float | None
    final: bool = False


class ResumeStateSaved(BaseRecord):
    """All that the next attempt needs to continue after `step`."""

    kind: Literal["resume_state_saved"] = "resume_state_saved"
    step: Count
    blob: Blob


class LogLine(BaseRecord):
    kind: Literal["log"] = "log"
    level: Literal["debug", "info", "warning", "error"]
    message: str
    step: Count | None = None


class Finding(BaseRecord):
    """What a detector noticed, with evidence and what to do."""

    kind: Literal["finding"] = "finding"
    code: str
    severity: Literal["info", "warning", "error"]
    step: Count
    message: str
    hint: str | None = None
    evidence: dict[str, Any] = Field(default_factory=dict)


class Ended(BaseRecord):
    """The last record of an attempt."""

    kind: Literal["ended"] = "ended"
    outcome: Literal["succeeded", "failed", "cancelled", "paused"]
    reason: str | None = None
    """Stable code, for example `reward_errors`, `out_of_memory`, `disk_full`, `model_load_failed`."""
    message: str | None = None
    hint: str | None = None
    step: Count = 0
    traceback: str | None = None


class RewardChange(RecordModel):
    """From some step on another revision scores under a reward's name."""

    type: Literal["reward"] = "reward"
    name: str
    """Name of one of the job's rewards."""
    kind: Literal["python", "grader"] = "python"
    source: str
    """Python code, or a grader's JSON."""
    entry: str | None = None
    revision: str
    """`rew_…@3`."""


class SettingChange(RecordModel):
    """From some step on a number of the specification is another one (`reinforge.algorithm.live_settings`)."""

    type: Literal["setting"] = "setting"
    setting: str
    """Dotted path from the job's root, such as `optimizer.learning_rate`."""
    value: float
    before: float
    """What it was when the change was asked for."""


Change = Annotated[RewardChange | SettingChange, Field(discriminator="type")]
CHANGE: TypeAdapter[Change] = TypeAdapter(Change)


class ChangeApplied(BaseRecord):
    """A change asked for while the job ran is at work from `step` on. Said again by an attempt that repeats it."""

    kind: Literal["change_applied"] = "change_applied"
    change: str
    step: Count


class CommandApplied(BaseRecord):
    """What a command asked for is done, after `step` completed steps."""

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
    """What the platform asks of a running trainer; applied at the next step boundary."""

    id: str
    kind: Literal["cancel", "pause", "checkpoint", "change"]
    change: Change | None = None
    """With kind `change`; `id` is the change's."""


class ScheduledChange(RecordModel):
    """A change that an earlier attempt has applied: this one applies it at the same step."""

    id: str
    step: int
    change: Change


Carried = Literal["weights", "optimizer", "algorithm", "critic", "reference", "order"]
"""What a fork takes over from the job that it goes on from: the adapter's weights; the optimizer's moments; the state
of the algorithm's slots; the critic with its optimizer; a reference that is no longer the base model; the order of
prompts and the noise of sampling, which go on as they would have there."""


class ForkStart(RecordModel):
    """`resume_path` is of another job: a resume state, or a checkpoint where no resume state of the step is kept."""

    step: int
    carried: list[Carried]


class RewardCode(RecordModel):
    """A reward as the trainer needs it."""

    name: str
    path: str
    """File with the source, inside the run folder."""
    revision: str
    """`rew_…@3`, or `sha256:…` offline."""
    kind: Literal["python", "grader"] = "python"
    """Python code, or a grader's JSON."""


class RunManifest(RecordModel):
    """`run.json`: everything a trainer process needs, all of it local to the run folder or an absolute path."""

    job: str
    attempt: int
    spec: dict[str, Any]
    """The resolved `JobSpec`."""
    model_path: str
    dataset_path: str
    """Rows as uploaded; the format follows the suffix (`.jsonl`, `.csv`, `.parquet`)."""
    held_out_path: str | None = None
    dataset_numbers: list[str] = Field(default_factory=list)
    """Columns of CSV that rewards read as numbers."""
    held_out_numbers: list[str] = Field(default_factory=list)
    rewards: list[RewardCode]
    sandbox_socket: str
    judges: dict[str, Judge] = Field(default_factory=dict)
    """Name → connection; keys travel beside it (`worker.rewards.secrets`)."""
    judge_cache: str | None = None
    """File with answers of judges; None keeps them in memory."""
    checkpoints: dict[str, str] = Field(default_factory=dict)
    """Checkpoints that graders name → folders."""
    resume_path: str | None = None
    fork: ForkStart | None = None
    changes: list[ScheduledChange] = Field(default_factory=list)
    """In the order in which they were applied."""
    first_sequence: int = 1

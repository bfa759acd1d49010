"""Jobs, their metrics, completions, logs and events."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from reinforge.diagnosis.verdict import Outcome, Verdict
from reinforge.records import Carried, CompletionEnd
from reinforge.schemas.common import Editable, Request, Response, Timestamp
from reinforge.schemas.findings import FindingHead
from reinforge.states import JobStatus
from reinforge.tools import CallStatus


class Progress(Response):
    step: int
    steps: int
    phase: str | None = None
    percent: float
    eta_seconds: float | None = None
    eta_low_seconds: float | None = None
    eta_high_seconds: float | None = None


class JobError(Response):
    code: str
    message: str
    hint: str | None = None
    traceback: str | None = None


class ForkedFrom(Response):
    job: str
    step: int
    """Step after which the fork continues."""
    carried: list[Carried]
    """Parts of the state that the job took over."""


class StartedFrom(Response):
    """Adapter whose weights a job started from; it is the base of the job."""

    id: str
    """`adp_…` or `ftckpt_…`."""
    name: str
    job: str | None = None
    """The job that trained the adapter, if it belongs to the same project."""
    step: int | None = None


class QueuePlace(Response):
    """Position of a queued job among all projects' jobs."""

    position: int
    """1 is next."""
    of: int
    reason: Literal["no_worker", "workers_busy", "about_to_start"]
    """What the job waits for: a worker to start, a worker to finish, or nothing."""
    workers: int
    notice: str | None = None
    """Further cause of delay: the broker does not answer, or all GPUs are taken."""


class Job(Response):
    object: Literal["job"] = "job"
    id: str
    name: str
    project: str
    status: JobStatus
    reason: str | None = None
    error: JobError | None = None
    progress: Progress
    queue: QueuePlace | None = None
    """Position in the queue; not in live events."""
    attempt: int
    model: str
    dataset: str
    preset_title: str | None = None
    """The preset's title, or id if it no longer exists; None without a preset."""
    reward_names: list[str]
    held_out_reward_before: float | None = None
    held_out_reward: float | None = None
    """Newest weighted held-out reward, without shaping."""
    held_out_reward_best: float | None = None
    """Held-out reward of `best_step`; in lists of jobs only."""
    held_out_includes_shaping: bool = False
    """Whether a worker before version 0.2 measured the reward: it includes shaping, and cannot be compared.
    """
    best_step: int | None = None
    """Step of the best held-out reward; null if none is better than the base."""
    verdict: Outcome | None = None
    """Outcome of the job; null before it ends or pauses, and for jobs from before version 0.2."""
    verdict_detail: Verdict | None = None
    finding: FindingHead | None = None
    """The most important open error or warning; not in live events."""
    adapter: str | None = None
    """`adp_…` once the job has succeeded."""
    jail: str | None = None
    forked_from: ForkedFrom | None = None
    started_from: StartedFrom | None = None
    created_at: Timestamp
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    created_by: str | None = None
    tags: list[str] = []
    archived: bool = False
    settings: dict[str, Any] = {}
    """Dotted path → value, for the paths that the request named."""


class JobDetail(Job, Editable):
    EDITS: ClassVar = frozenset({"name", "notes", "tags", "archived"})

    notes: str = ""
    """Markdown."""
    spec: dict[str, Any]
    """Specification as it was sent."""
    resolved_spec: dict[str, Any] | None = None
    facts: dict[str, Any] = {}
    warnings: list[str] = []


class Series(Response):
    """`values[i]` belongs to `steps[i]`, None if undefined there."""

    key: str
    kind: Literal["train", "held_out"]
    steps: list[int]
    values: list[float | None]
    ts: list[float]
    minima: list[float | None] | None = None
    """Smallest value of each bucket, if `buckets` shortened the series."""
    maxima: list[float | None] | None = None


class Metrics(Response):
    object: Literal["metrics"] = "metrics"
    job: str
    seq: int
    """Cursor of the event stream: continue from here."""
    series: list[Series]
    buckets: int | None = None
    """Requested maximum of points; `values` are the last of each bucket."""


class CompletionRow(Response):
    """Summary of a completion; `Completion` has the rest."""

    step: int
    split: Literal["train", "held_out"]
    prompt_no: int
    sample_no: int
    row_index: int
    prompt_hash: str
    reward: float | None
    advantage: float | None
    length: int
    finish_reason: CompletionEnd
    error: str | None
    text: str
    """Text that the policy wrote, in the last turn if there are several."""
    turns: int = 1
    tool_calls: int = 0
    tool_errors: int = 0


class CompletionCall(Response):
    """A call of a tool."""

    id: str
    name: str
    arguments: str
    """JSON, or the policy's text if it cannot be read."""
    status: CallStatus
    """`ok`, or why it failed."""
    result: str = ""
    cut: bool = False
    """Whether `result` is shortened."""
    milliseconds: float = 0.0
    reward: float | None = None
    """Reward that an OpenEnv environment returned for the call."""


class CompletionReply(Response):
    """Reply of a simulated user to a turn without a call."""

    status: CallStatus
    """`ok`, or why it failed."""
    text: str = ""
    """The reply, or the error; empty if the user ended the rollout."""
    ended: bool = False
    """Whether the user ended the rollout."""
    cut: bool = False
    """Whether `text` is shortened."""
    milliseconds: float = 0.0


class CompletionTurn(Response):
    """A turn of the policy: its tokens are `start` to `end` of the completion."""

    no: int
    start: int
    end: int
    text: str
    calls: list[CompletionCall] = []
    reply: CompletionReply | None = None


class RewardResult(Response):
    name: str
    status: str
    value: float | None
    parts: dict[str, float] = {}
    steps: list[tuple[float, int]] = []
    turns: list[tuple[float, int]] = []
    """(value, number of the turn), if the reward scores turns."""
    criteria: dict[str, float] = {}
    candidates: list[list[float]] = []
    reason: str | None = None
    prints: str = ""
    message: str | None = None
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    revision: str | None = None
    code: str | None = None
    """Error, more specific than `status`: `judge_refusal`, `invalid_variable` …"""
    labels: dict[str, str] = {}
    """Labels of judges and classifiers, by part of a multi grader (`""`: the reward)."""
    part_status: dict[str, str] = {}
    """Part of a multi grader without a value → `not_applicable` if its gate skipped it, or an error."""
    usage: dict[str, dict[str, float]] = {}
    """Judge → `prompt_tokens, completion_tokens, cached_tokens, cost, calls, cached_calls`."""


class CompletionBranch(Response):
    """Conversation that is trained with a rollout, in addition to the one that rewards read."""

    branch: int
    """Number of the conversation in the rollout, in the order of beginning."""
    reason: str | None = None
    """Why the conversation began: `first`, `fork`, `sampled_again`, `history_rewritten`,
    `reasoning_dropped`, `system_message`, `tools_changed` or `sub_agent`.
    """
    share: float
    """Its share of the rollout's trained tokens."""
    prompt_messages: list[dict[str, Any]] = []
    text: str
    token_ids: list[int] = []
    tokens: list[str] = []
    sampler_logprobs: list[float] = []
    trainer_logprobs: list[float] = []
    entropies: list[float] = []
    conversation: list[CompletionTurn] = []
    messages: list[dict[str, Any]] = []
    mask: list[bool] = []


class Completion(CompletionRow):
    prompt: str
    prompt_messages: list[dict[str, Any]] = []
    item: dict[str, Any] = {}
    rewards: list[RewardResult] = []
    token_ids: list[int] = []
    tokens: list[str] = []
    sampler_logprobs: list[float] = []
    trainer_logprobs: list[float] = []
    """Log-probabilities of the trained policy; empty for evaluations."""
    entropies: list[float] = []
    conversation: list[CompletionTurn] = []
    """Turns of the policy with the calls that they made; empty with environment `single_turn`."""
    messages: list[dict[str, Any]] = []
    """Messages after the prompt; empty with environment `single_turn`."""
    mask: list[bool] = []
    """Per token, whether the policy wrote it; empty with environment `single_turn`."""
    branch: int | None = None
    """Number of this conversation among the rollout's; null if every rollout of the step has one."""
    branches: list[CompletionBranch] = []
    """The rollout's other conversations that were trained. Tokens, turns and messages above are those of one
    conversation; `length`, `turns` and `tool_calls` count all.
    """


class CompletionPage(Response):
    object: Literal["list"] = "list"
    data: list[CompletionRow]
    has_more: bool = False
    total: int
    step: int | None
    steps: list[int] = []


class CompletionGroup(Response):
    object: Literal["group"] = "group"
    step: int
    split: Literal["train", "held_out"]
    prompt_no: int
    prompt_hash: str
    row_index: int
    prompt: str
    prompt_messages: list[dict[str, Any]] = []
    item: dict[str, Any] = {}
    answer: str | None = None
    """The reference answer, if the job names its column."""
    completions: list[Completion]
    """Completions in the order of `sample_no`, without token lists."""
    steps: list[int] = []


class GroupHead(Response):
    prompt_no: int
    prompt_hash: str
    row_index: int
    prompt: str
    """First 300 characters of the prompt's last message or the rendered prompt."""
    rewards: list[float | None] = []
    """Reward of each completion, in the order of `sample_no`."""
    tokens: int = 0
    failed: int = 0
    truncated: int = 0


class GroupList(Response):
    object: Literal["list"] = "list"
    data: list[GroupHead]
    step: int | None
    steps: list[int] = []
    """Steps that have completions of this split."""


class CompletionHit(CompletionRow):
    prompt: str | None = None
    """First 300 characters of the prompt's last message or the rendered prompt; null for older workers."""
    answer: str | None = None
    """The reference answer that the dataset declares, at most 300 characters."""


class CompletionHits(Response):
    """Search results over all steps."""

    object: Literal["list"] = "list"
    data: list[CompletionHit]
    has_more: bool = False
    next_cursor: str | None = None
    total: int
    """Number of matches, counted up to `counted_to`."""
    counted_to: int


class LogEntry(Response):
    seq: int
    ts: float
    level: str
    message: str
    step: int | None
    attempt: int


class JobEvent(Response):
    """Event in `GET /api/v1/jobs/{id}/events` and the live stream.

    type: `status` (data: Job), `metrics` (data: {step, kind, values, ts}), `completions` (data:
    {step, split, count}), `checkpoint` (data: Checkpoint), `log` (data: LogEntry), `finding`,
    `phase` (data: {phase, step, done, total}), `rewind` (data: {to_step}).
    """

    seq: int
    job: str
    type: str
    data: dict[str, Any]


class JobFork(Request):
    """A new job that continues another from a step, with the changes in `set`."""

    step: int | None = Field(default=None, ge=0)
    """Step from `GET /jobs/{id}/starts`; default the newest. 0: from the base, as an independent new job."""
    name: str | None = Field(default=None, max_length=200)
    set: dict[str, Any] = Field(default_factory=dict, max_length=100)
    """Dotted path in the specification → new value, such as `optimizer.learning_rate`, `rewards` or
    `algorithm.preset`, which replaces the whole algorithm.
    """


class JobStart(Response):
    step: int
    whole: bool
    """Whether the step has optimizer and algorithm state besides adapter weights."""
    held_out_reward: float | None = None


class JobStartList(Response):
    object: Literal["list"] = "list"
    data: list[JobStart]


class JobFamily(Response):
    """A job, its ancestors and all their forks, oldest first."""

    object: Literal["list"] = "list"
    data: list[Job]

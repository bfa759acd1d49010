"""Jobs, their metrics, completions, logs and events."""

from typing import Any, Literal

from pydantic import Field

from reinforge.diagnosis.verdict import Outcome, Verdict
from reinforge.records import Carried
from reinforge.schemas.common import Request, Response, Timestamp
from reinforge.states import JobStatus


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
    """After which it goes on."""
    carried: list[Carried]
    """What it took over there."""


class QueuePlace(Response):
    """Where a queued job stands among all projects' jobs, if nothing else happens."""

    position: int
    """1 is next."""
    of: int
    """So many are queued."""
    reason: Literal["no_worker", "workers_busy", "about_to_start"]
    """What it waits for: that a worker is started, that one has finished, or nothing any more."""
    workers: int
    """So many are there to train."""
    notice: str | None = None
    """What delays it beside that: the broker does not answer, or every GPU is taken."""


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
    """Place in the queue, for queued jobs; not part of live events."""
    attempt: int
    model: str
    dataset: str
    preset_title: str | None = None
    """What people call its algorithm, the preset's title; its id where that preset is no longer there; None where the
    slots came from no preset."""
    reward_names: list[str]
    held_out_reward_before: float | None = None
    held_out_reward: float | None = None
    """Newest held-out reward: your rewards by their weights, without the algorithm's shaping."""
    held_out_includes_shaping: bool = False
    """A worker before 0.2 measured them, with the algorithm's shaping in them. Do not compare them with other jobs'."""
    best_step: int | None = None
    """The latest of equal ones; null where none is better than the base."""
    verdict: Outcome | None = None
    """Once it has ended or paused; null before that, and for jobs that ended before version 0.2."""
    verdict_detail: Verdict | None = None
    adapter: str | None = None
    """`adp_…` once the job has succeeded."""
    jail: str | None = None
    forked_from: ForkedFrom | None = None
    created_at: Timestamp
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    created_by: str | None = None


class JobDetail(Job):
    spec: dict[str, Any]
    """As given."""
    resolved_spec: dict[str, Any] | None = None
    facts: dict[str, Any] = {}
    warnings: list[str] = []


class Series(Response):
    """One metric of one job, columnar; `values[i]` belongs to `steps[i]`, None where it was not defined."""

    key: str
    kind: Literal["train", "held_out"]
    steps: list[int]
    values: list[float | None]
    ts: list[float]
    minima: list[float | None] | None = None
    """Smallest value of each bucket, when `buckets` was asked for and shortened the series; with `maxima`."""
    maxima: list[float | None] | None = None


class Metrics(Response):
    object: Literal["metrics"] = "metrics"
    job: str
    seq: int
    """Live-event cursor that these points include: stream on from here."""
    series: list[Series]
    buckets: int | None = None
    """As asked for: no series has more points; `values` are the last of each bucket, `steps` where it is."""


class CompletionRow(Response):
    """The narrow row; `Completion` has the rest."""

    step: int
    split: Literal["train", "held_out"]
    prompt_no: int
    sample_no: int
    row_index: int
    prompt_hash: str
    reward: float | None
    advantage: float | None
    length: int
    finish_reason: str
    error: str | None
    text: str


class RewardResult(Response):
    """What one reward said about one completion."""

    name: str
    status: str
    value: float | None
    parts: dict[str, float] = {}
    steps: list[tuple[float, int]] = []
    criteria: dict[str, float] = {}
    candidates: list[list[float]] = []
    reason: str | None = None
    prints: str = ""
    message: str | None = None
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    revision: str | None = None
    code: str | None = None
    """Which error it was, finer than `status`: `judge_refusal`, `invalid_variable` …"""
    labels: dict[str, str] = {}
    """Labels that judges and classifiers gave: by part of a multi, `""` for the reward itself."""
    part_status: dict[str, str] = {}
    """Parts of a multi that have no value: `not_applicable` where a gate spared them, or an error."""
    usage: dict[str, dict[str, float]] = {}
    """Judge → `prompt_tokens, completion_tokens, cached_tokens, cost, calls, cached_calls`."""


class Completion(CompletionRow):
    prompt: str
    prompt_messages: list[dict[str, Any]] = []
    item: dict[str, Any] = {}
    rewards: list[RewardResult] = []
    token_ids: list[int] = []
    tokens: list[str] = []
    sampler_logprobs: list[float] = []
    trainer_logprobs: list[float] = []
    """Log-probabilities of the policy that was trained; empty for evaluations."""
    entropies: list[float] = []


class CompletionPage(Response):
    object: Literal["list"] = "list"
    data: list[CompletionRow]
    has_more: bool = False
    total: int
    step: int | None
    steps: list[int] = []
    """Steps that have completions of this split."""


class CompletionGroup(Response):
    """The completions of one prompt at one step."""

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
    """The reference answer, when the job names its column."""
    completions: list[Completion]
    """By `sample_no`; token lists are empty here, `Completion` has them."""
    steps: list[int] = []
    """Steps at which this prompt was sampled for this split."""


class GroupHead(Response):
    """One prompt of a step and how its completions did."""

    prompt_no: int
    prompt_hash: str
    row_index: int
    prompt: str
    """How its last message (or its text, when there are none) begins: at most 300 characters."""
    rewards: list[float | None] = []
    """By `sample_no`."""
    tokens: int = 0
    """Tokens of all its completions."""
    failed: int = 0
    truncated: int = 0


class GroupList(Response):
    """The groups of one step by `prompt_no`, all of them."""

    object: Literal["list"] = "list"
    data: list[GroupHead]
    step: int | None
    steps: list[int] = []
    """Steps that have completions of this split."""


class CompletionHits(Response):
    """Completions over all steps that match a search."""

    object: Literal["list"] = "list"
    data: list[CompletionRow]
    has_more: bool = False
    next_cursor: str | None = None
    total: int
    """At most `counted_to`."""
    counted_to: int


class LogEntry(Response):
    seq: int
    ts: float
    level: str
    message: str
    step: int | None
    attempt: int


class FindingEntry(Response):
    code: str
    severity: str
    step: int
    message: str
    hint: str | None
    evidence: dict[str, Any] = {}
    source: str = "trainer"
    """`trainer`, or `training_check`: a problem that `GET /jobs/{id}/training-check` reports."""
    resolved_step: int | None = None
    """The step at which a problem of the training check was gone; null while it is there."""


class JobEvent(Response):
    """What `GET /api/v1/jobs/{id}/events` lists and the live stream carries.

    type: `status` (data: Job), `metrics` (data: {step, kind, values, ts}), `completions` (data: {step, split, count}),
    `checkpoint` (data: Checkpoint), `log` (data: LogEntry), `finding`, `phase` (data: {phase, step, done, total}),
    `rewind` (data: {to_step}).
    """

    seq: int
    job: str
    type: str
    data: dict[str, Any]


class JobFork(Request):
    """A new job that goes on from a step of another: with the specification as it was there, but for `set`."""

    step: int | None = Field(default=None, ge=1)
    """One of `GET /jobs/{id}/starts`; default the newest."""
    name: str | None = Field(default=None, max_length=200)
    set: dict[str, Any] = Field(default_factory=dict, max_length=100)
    """Dotted path in the specification → another value, such as `optimizer.learning_rate`, `rewards` or
    `algorithm.preset`, which replaces the whole algorithm."""


class JobStart(Response):
    """A step that a fork can go on from."""

    step: int
    whole: bool
    """The optimizer and the algorithm's state are there, too; else the adapter's weights alone."""
    held_out_reward: float | None = None


class JobStartList(Response):
    object: Literal["list"] = "list"
    data: list[JobStart]


class JobFamily(Response):
    """A job, what it was forked from and every fork of those, oldest first."""

    object: Literal["list"] = "list"
    data: list[Job]

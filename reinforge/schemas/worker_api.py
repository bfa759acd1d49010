"""Worker API: HTTP messages between workers and backend. Workers have no database credentials.

Registration, claims and RPCs carry the worker token; requests about a claimed job and its blobs
carry the claim's job token, valid for that attempt. Stale attempts get `lease_lost`.
"""

from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from reinforge.net.broker import BrokerState
from reinforge.records import Blob, Command, ForkStart, Record, RecordModel, ScheduledChange, StepMetrics
from reinforge.reward_spec.judges import Judge
from reinforge.schemas.common import Request, Response
from reinforge.schemas.rpc.base import CallKind
from reinforge.schemas.rpc.events import RpcEvent

PROTOCOL = 3
"""Protocol version, increased with each incompatible change."""
PROTOCOL_HEADER = "reinforge-protocol"

LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 5.0
HEARTBEATS_PER_LEASE = 6
"""Minimum heartbeats per lease: with a shorter lease, they are more frequent."""
CALL_POLL_SECONDS = 25.0

EngineName = Literal["transformers", "vllm"]


class Register(Request):
    id: str = Field(pattern=r"^wrk_[A-Za-z0-9_-]{1,80}$")
    kind: Literal["trainer", "calls"]
    hostname: str
    version: str
    jail: str | None = None
    jail_reasons: list[str] = []
    device: str | None = None
    answers: list[CallKind] | None = None
    """Supported RPCs: workers without torch do not sample. None: all."""
    broker: BrokerState | None = None
    engines: list[EngineName] | None = None
    """Supported `rollout.engine` values; `auto` means the first. None: not reported."""
    waits_for: str | None = None
    """Why an idle worker takes no job."""
    process: str | None = None
    """Random id of the worker process: RPCs sent to an earlier process are lost."""


class Claim(Request):
    worker: str
    job: str | None = None
    """Id of the job; None: the next in the queue."""


class ClaimedReward(Response):
    name: str
    source: str
    revision: str
    kind: Literal["python", "grader"] = "python"


class Claimed(Response):
    job: str
    attempt: int
    job_token: str
    lease_seconds: float = LEASE_SECONDS
    spec: dict[str, Any]
    model_source: str
    """`builtin:starter-arith`, a folder, or `hub:org/name@revision`."""
    hub_token: str | None = None
    model_sha256: str | None
    dataset: Blob
    dataset_format: str
    dataset_numbers: list[str] = []
    """Columns of CSV that rewards read as numbers."""
    held_out: Blob | None = None
    held_out_format: str | None = None
    held_out_numbers: list[str] = []
    rewards: list[ClaimedReward]
    judges: dict[str, Judge] = {}
    judge_keys: dict[str, str] = {}
    signing_secret: str | None = None
    """Signs requests of endpoint rewards."""
    resume: Blob | None = None
    resume_step: int = 0
    changes: list[ScheduledChange] = []
    """Changes that earlier attempts applied, in the order of application."""
    fork: ForkStart | None = None
    """Start of the fork, if `resume` comes from another job."""
    start: Blob | None = None
    """Archive of the adapter that training starts from."""
    traceparent: str | None = None
    """W3C trace context of the request that created the job."""


CACHED_AT_ONCE = 1000


class Cached(Request):
    """Contents of a worker's caches: hashes of objects, and jobs with a run folder."""

    objects: list[Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]] = Field(
        default=[], max_length=CACHED_AT_ONCE
    )
    jobs: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default=[], max_length=CACHED_AT_ONCE
    )


class Unused(Response):
    objects: list[str]
    jobs: list[str]


class Heartbeat(Request):
    attempt: int
    applied_commands: list[str] = []


class HeartbeatReply(Response):
    lease_seconds: float = LEASE_SECONDS
    commands: list[Command] = []


class MetricColumns(RecordModel):
    """Consecutive `step_metrics` records with equal keys: `step[i]`, `ts[i]`, `values[key][i]` are record
    `sequence + i`. Sent by workers of earlier releases.
    """

    kind: Literal["metric_columns"] = "metric_columns"
    sequence: int = Field(ge=1)
    step: list[int] = Field(min_length=1, max_length=1000)
    """Steps, ascending."""
    ts: list[float]
    values: dict[str, list[float | None]]

    @model_validator(mode="after")
    def _is_a_table(self) -> Self:
        lengths = {len(self.ts), *map(len, self.values.values())}
        if lengths != {len(self.step)}:
            raise ValueError("every column has to be as long as `step`")
        if any(earlier >= later for earlier, later in pairwise(self.step)):
            raise ValueError("steps have to ascend")
        return self

    def records(self) -> list[StepMetrics]:
        return [
            StepMetrics(
                sequence=self.sequence + place,
                ts=ts,
                step=step,
                values={key: column[place] for key, column in self.values.items()},
            )
            for place, (step, ts) in enumerate(zip(self.step, self.ts, strict=True))
        ]


class RecordBatch(Request):
    attempt: int
    records: list[Annotated[Record | MetricColumns, Field(discriminator="kind")]] = Field(max_length=1000)


class RecordReply(Response):
    acknowledged: int
    """Highest stored sequence; workers may forget records up to it."""


class NextCall(Request):
    worker: str
    kinds: list[CallKind]
    wait_seconds: float = Field(default=CALL_POLL_SECONDS, ge=0, le=60)


class CallMessage(Response):
    id: str
    kind: CallKind
    payload: dict[str, Any]
    deadline_seconds: float
    traceparent: str | None = None
    """W3C trace context of the HTTP request that waits for the RPC."""


class CallAnswer(Request):
    """The worker's answer: `result`, or as `error` the inner object of an error response."""

    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class CallChunk(Request):
    """Events of a running `sample` RPC, ordered by `seq`; repeated ones change nothing.

    A chunk without events asks whether a client waits for the RPC; if none does, the answer is 404.
    """

    seq: int = Field(ge=1)
    events: list[RpcEvent] = Field(default_factory=list, max_length=10_000)

"""The worker door: what workers and the backend say to each other over HTTP. Workers hold no database credentials.

Registration, claims and calls carry `Authorization: Bearer <worker token>`. What is about a claimed job, its blobs
included, carries the job token that the claim answered: it is good for that job and attempt only, and a stale attempt
is refused with `lease_lost`.
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
"""Protocol version: raised with each incompatible change."""
PROTOCOL_HEADER = "reinforge-protocol"
"""Sent by workers with every request."""

LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 5.0
HEARTBEATS_PER_LEASE = 6
"""At least: a shorter lease is renewed more often."""
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
    """Kinds of calls that it takes: one without torch does not sample. None: any."""
    broker: BrokerState | None = None
    """Broker of workers that train."""
    engines: list[EngineName] | None = None
    """Values of `rollout.engine` that a training worker supports; `auto` means the first. None: not reported."""
    waits_for: str | None = None
    """Why a worker that trains takes no job although it is idle, such as that every GPU is in use."""
    process: str | None = None
    """Random id of the process. Tells the backend that calls of an earlier process are lost."""


class Claim(Request):
    worker: str
    job: str | None = None
    """This one and no other; None takes the one whose turn it is."""


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
    """Opens the model, when it is private."""
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
    """Those that the rewards ask."""
    judge_keys: dict[str, str] = {}
    signing_secret: str | None = None
    """For rewards that call an endpoint."""
    resume: Blob | None = None
    resume_step: int = 0
    changes: list[ScheduledChange] = []
    fork: ForkStart | None = None
    """`resume` is of the job that this one goes on from."""
    """What earlier attempts have applied, in order."""


CACHED_AT_ONCE = 1000


class Cached(Request):
    """What a worker has in its caches: hashes of objects, and jobs that have a run folder."""

    objects: list[Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]] = Field(
        default=[], max_length=CACHED_AT_ONCE
    )
    jobs: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default=[], max_length=CACHED_AT_ONCE
    )


class Unused(Response):
    """The objects among those requested that nothing needs any more."""

    objects: list[str]
    jobs: list[str]


class Heartbeat(Request):
    attempt: int
    applied_commands: list[str] = []


class HeartbeatReply(Response):
    lease_seconds: float = LEASE_SECONDS
    commands: list[Command] = []


class MetricColumns(RecordModel):
    """Records of kind `step_metrics` that follow each other with the same keys: `step[i]`, `ts[i]` and `values[key][i]`
    are what record `sequence + i` says. Workers of earlier releases send it."""

    kind: Literal["metric_columns"] = "metric_columns"
    sequence: int = Field(ge=1)
    """Sequence number of the first record."""
    step: list[int] = Field(min_length=1, max_length=1000)
    """Ascending."""
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
    """Highest sequence stored; everything up to it may be forgotten by the worker."""


class NextCall(Request):
    worker: str
    kinds: list[CallKind]
    wait_seconds: float = Field(default=CALL_POLL_SECONDS, ge=0, le=60)


class CallMessage(Response):
    id: str
    kind: CallKind
    payload: dict[str, Any]
    deadline_seconds: float


class CallAnswer(Request):
    """The worker's answer; `error` is the envelope's inner object."""

    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class CallChunk(Request):
    """Events of a call under way (`sample`), in the order of `seq`; one that was sent before changes nothing.

    Without events it only asks whether somebody still waits: 404 when nobody does.
    """

    seq: int = Field(ge=1)
    events: list[RpcEvent] = Field(default_factory=list, max_length=10_000)

"""Rollouts of programs that call the model themselves: messages between trainer, server and runner."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reinforge.schemas.common import Request, Response

TAKE_SECONDS = 25.0
"""Default duration of a long poll."""
MOST_TASKS = 64
MOST_ROLLOUTS_AT_ONCE = 64
MOST_CALLS_AT_ONCE = 256
KEY_PREFIX = "rf-ro-"
"""First characters of a rollout's key; no API key begins with them."""

EndStatus = Literal["ok", "agent_error", "agent_lost", "timeout"]
"""`agent_error`: the program raised an error or exited; `agent_lost`: the runner of each try was lost."""

RolloutId = Annotated[str, Field(pattern=r"^roll_[0-9a-z]{8,40}$")]


# ── Trainer and server ──────────────────────────────────────────────────────────────────────────────────────


class AgentTaskInput(Request):
    """Task of a rollout, for the user's program."""

    item: dict[str, Any]
    """The dataset row."""
    messages: list[dict[str, Any]]
    """The row's prompt."""
    tools: list[dict[str, Any]] | None = None
    split: Literal["train", "held_out"]
    step: int
    prompt_no: int
    sample_no: int


class AgentRolloutInput(Request):
    id: RolloutId
    task: AgentTaskInput


class AgentLimits(Request):
    max_model_calls: int = Field(ge=1)
    rollout_seconds: float = Field(gt=0)
    """Maximum time of a rollout, from the moment a runner takes it."""
    heartbeat_seconds: float = Field(gt=0)
    """Time without a heartbeat after which the runner is lost."""
    tries: int = Field(default=2, ge=1, le=10)
    """Maximum tries of a rollout: after a runner is lost, another runner tries."""


class OpenRollouts(Request):
    """Offer rollouts to runners; a rollout that is offered again is ignored."""

    attempt: int
    limits: AgentLimits
    rollouts: list[AgentRolloutInput] = Field(max_length=MOST_ROLLOUTS_AT_ONCE)


class TakeModelCalls(Request):
    """The trainer's long poll for model calls and rollout ends. Items not in `received_…` are repeated."""

    attempt: int
    received_calls: list[str] = Field(default=[], max_length=MOST_CALLS_AT_ONCE)
    received_ends: list[str] = Field(default=[], max_length=MOST_CALLS_AT_ONCE)
    wait_seconds: float = Field(default=TAKE_SECONDS, ge=0, le=60)


class ModelCallMessage(Response):
    id: str
    kind: str
    """Protocol of `payload`."""
    caller: str
    """Id of the waiting caller; for kind `chat` the id of a rollout."""
    payload: dict[str, Any]


class RolloutEnd(Response):
    rollout: str
    status: EndStatus
    reward: float | None = None
    """Reward that the program returned."""
    message: str | None = None
    """Why the rollout failed."""


class TrainerWork(Response):
    calls: list[ModelCallMessage] = []
    ends: list[RolloutEnd] = []
    waiting: int = 0
    """Number of rollouts that no runner has taken."""


class ModelCallAnswer(Request):
    """Answer to a model call: `result`, or as `error` the inner object of an error response."""

    id: str
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class AnswerModelCalls(Request):
    attempt: int
    answers: list[ModelCallAnswer] = Field(max_length=MOST_CALLS_AT_ONCE)


class AnsweredModelCalls(Response):
    abandoned: list[str] = []
    """Ids of calls whose answers no client awaits."""


class CloseRollouts(Request):
    """End all rollouts of the attempt; their keys are revoked."""

    attempt: int


class ChatPayload(Request):
    """Payload of a model call of kind `chat`."""

    try_no: int
    """Number of the try. A rollout that is tried again begins without history."""
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    max_tokens: int | None = None
    request_id: str = ""
    idempotency_key: str | None = None
    retry_count: int | None = None


class ChatAnswer(Request):
    """Result of a model call of kind `chat`."""

    message: dict[str, Any]
    """The assistant's message, in OpenAI's format."""
    finish_reason: Literal["stop", "length", "tool_calls"]
    prompt_tokens: int
    completion_tokens: int


# ── Runner and server ───────────────────────────────────────────────────────────────────────────────────────


class TakeRollouts(Request):
    runner: str = Field(min_length=1, max_length=200)
    """Name of the runner, for people."""
    max: int = Field(default=1, ge=1, le=MOST_TASKS)
    wait_seconds: float = Field(default=TAKE_SECONDS, ge=0, le=60)


class AgentTask(Response):
    """A rollout that a runner holds until it ends, its deadline passes, or heartbeats stop for too long."""

    rollout_id: str
    api_key: str
    """Key of this rollout, for `POST /v1/rollout/…` alone; revoked when the rollout ends."""
    item: dict[str, Any]
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    split: Literal["train", "held_out"]
    step: int
    heartbeat_seconds: float
    rollout_seconds: float


class AgentTasks(Response):
    job_status: str
    ended: bool
    """Whether the job has ended: there will be no more tasks."""
    data: list[AgentTask] = []


class RolloutCounts(Response):
    """How many rollouts of a job wait or run; 0 unless its environment is `agent`."""

    object: Literal["rollout.counts"] = "rollout.counts"
    waiting: int
    """Number of rollouts that no runner has taken."""
    running: int
    runners: list[str] = []
    """Names of the runners that hold rollouts, at most 100."""


class EndRollout(Request):
    """End of a rollout: a failure with `error`, else a success."""

    reward: float | None = Field(default=None, allow_inf_nan=False)
    error: str | None = Field(default=None, max_length=20_000)
    released: bool = False
    """The runner stops before the rollout's end, so another may try it."""

"""What is changed in a job while it runs, and commands to it."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from reinforge.schemas.common import Request, Response, Timestamp


class RewardChangeCreate(Request):
    """Score with another stored revision from the next step on."""

    type: Literal["reward"] = "reward"
    reward: str | None = None
    """Name of one of the job's rewards; needed when it has several."""
    stored: str | None = None
    """Id of a stored reward (`rew_…`); by default the one that the job uses."""
    revision: int | None = Field(default=None, ge=1)
    """Default its newest."""


class SettingChangeCreate(Request):
    """Train with another number from the next step on."""

    type: Literal["setting"] = "setting"
    setting: str = Field(min_length=1, max_length=200)
    """One of those that `GET /jobs/{id}/settings` lists, such as `optimizer.learning_rate`."""
    value: float


ChangeCreate = Annotated[
    Annotated[RewardChangeCreate, Tag("reward")] | Annotated[SettingChangeCreate, Tag("setting")],
    Discriminator(
        lambda body: body.get("type", "reward") if isinstance(body, dict) else getattr(body, "type", "reward")
    ),
]
"""Without a `type` it is a reward's."""


class JobSetting(Response):
    """A number that can be changed while the job runs."""

    setting: str
    """Dotted path in the specification."""
    title: str
    value: float
    """After every change that was asked for."""
    created_with: float


class JobSettingList(Response):
    object: Literal["list"] = "list"
    data: list[JobSetting]


class JobCommandView(Response):
    object: Literal["job.command"] = "job.command"
    id: str
    job: str
    kind: str
    """`checkpoint`, `pause` or `cancel`."""
    step: int | None = None
    """After which it was done; null until then."""
    created_at: Timestamp
    applied_at: Timestamp | None = None


class JobChangeView(Response):
    """`reward` and `revision` of a reward's change, `setting`, `value` and `before` of a setting's."""

    object: Literal["job.change"] = "job.change"
    id: str
    job: str
    type: Literal["reward", "setting"] = "reward"
    reward: str | None = None
    """Name in the job."""
    revision: str | None = None
    """`rew_…@3`."""
    setting: str | None = None
    """Dotted path in the specification."""
    title: str | None = None
    """The setting in words."""
    value: float | None = None
    before: float | None = None
    step: int | None = None
    """First step that it was at work in; null until it is applied."""
    created_by: str | None = None
    created_at: Timestamp
    applied_at: Timestamp | None = None


class JobChangeList(Response):
    object: Literal["list"] = "list"
    data: list[JobChangeView]

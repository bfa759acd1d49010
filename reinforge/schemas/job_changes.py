"""Changes and commands to running jobs."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from reinforge.schemas.common import Request, Response, Timestamp


class RewardChangeCreate(Request):
    """Score with another stored revision from the next step on."""

    type: Literal["reward"] = "reward"
    reward: str | None = None
    """Name of one of the job's rewards; needed if it has several."""
    stored: str | None = None
    """Id of a stored reward (`rew_…`); default the one the job uses."""
    revision: int | None = Field(default=None, ge=1)
    """Revision of the stored reward; default the newest."""


class SettingChangeCreate(Request):
    """Train with another number from the next step on."""

    type: Literal["setting"] = "setting"
    setting: str = Field(min_length=1, max_length=200)
    """A setting from `GET /jobs/{id}/settings`, such as `optimizer.learning_rate`."""
    value: float


ChangeCreate = Annotated[
    Annotated[RewardChangeCreate, Tag("reward")] | Annotated[SettingChangeCreate, Tag("setting")],
    Discriminator(
        lambda body: body.get("type", "reward") if isinstance(body, dict) else getattr(body, "type", "reward")
    ),
]
"""The default `type` is `reward`."""


class JobSetting(Response):
    setting: str
    """Dotted path in the specification."""
    title: str
    value: float
    """Value after all requested changes."""
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
    """Completed steps when the command was executed; null before."""
    created_at: Timestamp
    applied_at: Timestamp | None = None


class JobChangeView(Response):
    """Changes of rewards have `reward` and `revision`, changes of settings `setting`, `value` and `before`."""

    object: Literal["job.change"] = "job.change"
    id: str
    job: str
    type: Literal["reward", "setting"] = "reward"
    reward: str | None = None
    revision: str | None = None
    """Id and number of the revision, `rew_…@3`."""
    setting: str | None = None
    title: str | None = None
    value: float | None = None
    before: float | None = None
    step: int | None = None
    """First step with the change; null until it is applied."""
    created_by: str | None = None
    created_at: Timestamp
    applied_at: Timestamp | None = None


class JobChangeList(Response):
    object: Literal["list"] = "list"
    data: list[JobChangeView]

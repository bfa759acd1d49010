"""Judges of a project."""

from typing import ClassVar, Literal

from pydantic import Field, SecretStr

from reinforge.reward_spec.base import Name
from reinforge.reward_spec.judges import Judge
from reinforge.schemas.common import Editable, Request, Response, Timestamp

Structured = Literal["json_schema", "json_object", "prompt"]


class JudgeCreate(Request):
    name: Name
    """What graders call it."""
    base_url: str = Field(max_length=2048)
    """Where `/chat/completions` is found, for example `https://api.openai.com/v1`."""
    model: str = Field(min_length=1, max_length=200)
    """The model's name there."""
    api_key: SecretStr | None = Field(default=None, min_length=1, max_length=4096)
    """Kept encrypted, sent to workers that ask this judge, and never answered."""
    input_price: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Per million tokens of input, in a currency of your choice."""
    output_price: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Per million tokens of output."""
    structured: Structured = "json_schema"
    """How the reply's form is asked for."""
    concurrency: int = Field(default=8, ge=1, le=256)
    """Requests under way at the same time, for each job."""
    timeout_seconds: float = Field(default=120.0, gt=0, le=600)
    """For one try."""
    retries: int = Field(default=4, ge=0, le=10)
    """After a time-out, 429 or 5xx."""

    def connection(self) -> Judge:
        """Raises pydantic's ValidationError for an address that is none."""
        return Judge.model_validate(self.model_dump(exclude={"name", "api_key"}))


class JudgeChange(Request):
    """What is not given stays; `api_key: null` removes the key."""

    base_url: str | None = Field(default=None, max_length=2048)
    model: str | None = Field(default=None, min_length=1, max_length=200)
    api_key: SecretStr | None = Field(default=None, min_length=1, max_length=4096)
    input_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    output_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    structured: Structured | None = None
    concurrency: int | None = Field(default=None, ge=1, le=256)
    timeout_seconds: float | None = Field(default=None, gt=0, le=600)
    retries: int | None = Field(default=None, ge=0, le=10)


class JudgeInfo(Editable):
    EDITS: ClassVar = frozenset({"updated_at"})
    """A key that is another shows nowhere else."""

    object: Literal["judge"] = "judge"
    id: str
    name: str
    base_url: str
    model: str
    input_price: float
    output_price: float
    structured: Structured
    concurrency: int
    timeout_seconds: float
    retries: int
    has_key: bool
    created_by: str | None = None
    created_at: Timestamp
    updated_at: Timestamp


class SigningSecret(Response):
    object: Literal["signing_secret"] = "signing_secret"
    secret: str
    """`whsec_…`: with it a server of yours checks that a grading request came from here."""

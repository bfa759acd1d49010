"""Requests and responses about a project's judges: models on servers that score completions."""

from typing import ClassVar, Literal

from pydantic import Field, SecretStr

from reinforge.reward_spec.base import Name
from reinforge.reward_spec.judges import Judge
from reinforge.schemas.common import Editable, Request, Response, Timestamp

Structured = Literal["json_schema", "json_object", "prompt"]


class JudgeCreate(Request):
    name: Name
    base_url: str = Field(max_length=2048)
    """Address before `/chat/completions`, for example `https://api.openai.com/v1`."""
    model: str = Field(min_length=1, max_length=200)
    """Model name on that server."""
    api_key: SecretStr | None = Field(default=None, min_length=1, max_length=4096)
    """Key of the judge's server. Stored encrypted, sent to workers that ask this judge, never returned."""
    input_price: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Price per million input tokens, in any currency."""
    output_price: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Price per million output tokens."""
    structured: Structured = "json_schema"
    """How JSON replies are requested."""
    concurrency: int = Field(default=8, ge=1, le=256)
    """Maximum concurrent requests per job."""
    timeout_seconds: float = Field(default=120.0, gt=0, le=600)
    """Maximum time of one try."""
    retries: int = Field(default=4, ge=0, le=10)
    """Retries after a time-out, 429 or 5xx."""

    def connection(self) -> Judge:
        """Convert to a `Judge`. Raises ValidationError for an invalid address."""
        return Judge.model_validate(self.model_dump(exclude={"name", "api_key"}))


class JudgeChange(Request):
    """Omitted fields are kept; `api_key: null` removes the key."""

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
    """`updated_at` alone, because no other field shows that the key has changed."""

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
    """`whsec_…`: your server verifies grading requests with it."""

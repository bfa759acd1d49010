"""Connections to judges with OpenAI's chat-completions API."""

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from reinforge.algorithm.base import SpecModel


class Judge(SpecModel):
    """A judge for `reinforge train`. On a server, jobs use the project's judges by name."""

    base_url: str = Field(max_length=2048)
    """Address without `/chat/completions`, for example `https://api.openai.com/v1`."""
    model: str = Field(min_length=1, max_length=200)
    """Model name on that server."""
    api_key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w{0,99}$")
    """Environment variable with the key; default: no key."""
    input_price: float = Field(default=0.0, ge=0)
    """Price of a million input tokens, in any currency."""
    output_price: float = Field(default=0.0, ge=0)
    """Price of a million output tokens."""
    structured: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    """How JSON replies are requested: by schema, as any JSON object, or only in the prompt."""
    concurrency: int = Field(default=8, ge=1, le=256)
    """Maximum concurrent requests."""
    timeout_seconds: float = Field(default=120.0, gt=0, le=600)
    """Limit of one attempt, from connecting to the last byte."""
    retries: int = Field(default=4, ge=0, le=10)
    """Maximum retries after a time-out, 429 or 5xx, with growing pauses."""

    @field_validator("base_url")
    @classmethod
    def an_address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            valid = False
        if not valid or parts.query or parts.fragment:
            raise ValueError("write an address such as https://api.openai.com/v1")
        if parts.username or parts.password:
            raise ValueError("take user and password out of the address: set `api_key_env` instead")
        return value.rstrip("/").removesuffix("/chat/completions")

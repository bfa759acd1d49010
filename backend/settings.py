"""Backend settings from environment variables."""

import ipaddress
from email.utils import parseaddr
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from reinforge.errors import InvalidInput
from reinforge.net.outbound import Guard
from reinforge.schemas.worker_api import LEASE_SECONDS


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        extra="ignore", populate_by_name=True, env_ignore_empty=True, hide_input_in_errors=True
    )

    home: Path = Field(default=Path(".reinforge"), validation_alias="REINFORGE_HOME")
    database_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_URL")
    redis_url: SecretStr | None = Field(default=None, validation_alias="REDIS_URL")
    storage_url: str | None = Field(default=None, validation_alias="STORAGE_URL")
    s3_endpoint_url: str | None = Field(default=None, validation_alias="S3_ENDPOINT_URL")
    """Address of an S3-compatible store other than AWS, such as MinIO."""
    url: str = Field(default="http://127.0.0.1:8321", validation_alias="REINFORGE_URL")
    """Public address of the server, for links and messages."""
    trusted_proxies: str = Field(default="127.0.0.1", validation_alias="REINFORGE_TRUSTED_PROXIES")
    """Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are trusted."""
    worker_token: SecretStr | None = Field(default=None, validation_alias="REINFORGE_WORKER_TOKEN")
    """Token of the worker API, which is disabled without it."""
    previous_worker_token: SecretStr | None = Field(
        default=None, validation_alias="REINFORGE_PREVIOUS_WORKER_TOKEN"
    )
    """Former worker token, which is accepted while workers switch to the new one."""
    worker_listen: str | None = Field(
        default=None,
        validation_alias="REINFORGE_WORKER_LISTEN",
        pattern=r"^(\[[0-9a-fA-F:]+\]|[^:\s]+):\d{1,5}$",
    )
    """`host:port` that serves only the worker API. If unset, the main port serves it, too."""
    metrics_token: SecretStr | None = Field(
        default=None, validation_alias="REINFORGE_METRICS_TOKEN", min_length=16
    )
    """Token of /metrics, which is disabled without it."""
    bootstrap_api_key: SecretStr | None = Field(default=None, validation_alias="REINFORGE_BOOTSTRAP_API_KEY")
    secret_key: SecretStr | None = Field(default=None, validation_alias="REINFORGE_SECRET_KEY")
    """Key that encrypts stored secrets, such as judges' keys; default: `secret-key` in the home folder."""
    allow_hosts: str = Field(default="", validation_alias="REINFORGE_ALLOW_HOSTS")
    """Internal addresses that the platform may call, such as those of judges and webhooks."""
    smtp_host: str | None = Field(
        default=None, validation_alias="REINFORGE_SMTP_HOST", pattern=r"^[^\s:/@]+$"
    )
    """SMTP server; no e-mail is sent without it."""
    smtp_port: int | None = Field(default=None, validation_alias="REINFORGE_SMTP_PORT", ge=1, le=65535)
    smtp_tls: Literal["starttls", "tls", "none"] = Field(
        default="starttls", validation_alias="REINFORGE_SMTP_TLS"
    )
    smtp_user: str | None = Field(default=None, validation_alias="REINFORGE_SMTP_USER")
    smtp_password: SecretStr | None = Field(default=None, validation_alias="REINFORGE_SMTP_PASSWORD")
    smtp_from: str | None = Field(default=None, validation_alias="REINFORGE_SMTP_FROM")
    """Sender of e-mail, such as `Reinforge <reinforge@example.org>`."""
    wandb_mode: Literal["online", "offline"] = Field(default="online", validation_alias="WANDB_MODE")
    """Mode of exports to W&B; `offline` writes them below `wandb` in the home folder, one run per ended job."""
    upload_limit_bytes: int = Field(
        default=4 * 1024**3, validation_alias="REINFORGE_UPLOAD_LIMIT_BYTES", gt=0
    )
    """Maximum size of a dataset or an uploaded adapter."""
    gpu_hour_price: float | None = Field(default=None, validation_alias="REINFORGE_GPU_HOUR_PRICE", ge=0)
    """Price of an hour of a worker's time, in any currency, for the cost of jobs."""
    blob_limit_bytes: int = Field(default=64 * 1024**3, validation_alias="REINFORGE_BLOB_LIMIT_BYTES", gt=0)
    """Maximum size of an object that a worker uploads."""
    key_requests: int = Field(default=512, validation_alias="REINFORGE_KEY_REQUESTS", ge=8)
    """Maximum concurrent requests of one key or person in each API process."""
    project_requests: int = Field(default=1024, validation_alias="REINFORGE_PROJECT_REQUESTS", ge=8)
    key_streams: int = Field(default=512, validation_alias="REINFORGE_KEY_STREAMS", ge=1)
    project_streams: int = Field(default=1024, validation_alias="REINFORGE_PROJECT_STREAMS", ge=1)
    project_body_bytes: int = Field(
        default=256 * 1024**2, validation_alias="REINFORGE_PROJECT_BODY_BYTES", ge=16 * 1024**2
    )
    """Maximum JSON bytes in a project's concurrent requests."""
    project_upload_bytes: int = Field(
        default=16 * 1024**3, validation_alias="REINFORGE_PROJECT_UPLOAD_BYTES", gt=0
    )
    """Maximum bytes in a project's concurrent uploads, at least `upload_limit_bytes`."""
    project_calls: int = Field(default=100, validation_alias="REINFORGE_PROJECT_CALLS", ge=1)
    """Maximum waiting RPCs of a project for checks, previews and tests."""
    project_samples: int = Field(default=1024, validation_alias="REINFORGE_PROJECT_SAMPLES", ge=1)
    """Maximum waiting RPCs of a project for chat and sampling."""
    pool_size: int = Field(default=10, validation_alias="REINFORGE_DATABASE_POOL", ge=2, le=100)
    """Database connections per process; under load, up to twice as many."""
    statement_seconds: float = Field(
        default=60.0, validation_alias="REINFORGE_STATEMENT_SECONDS", ge=0, le=3600
    )
    """Statement timeout of the API; 0: none. Migrations and the background process have none."""
    lease_seconds: float = Field(
        default=LEASE_SECONDS, validation_alias="REINFORGE_LEASE_SECONDS", ge=3, le=300
    )
    """Seconds without contact after which a worker loses its job."""

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, value: str) -> str:
        if value.strip() != "*":  # every peer
            for network in value.split(","):
                ipaddress.ip_network(network.strip())
        return value.strip()

    @model_validator(mode="after")
    def _check_smtp(self) -> Self:
        if self.smtp_host is not None:
            if not parseaddr(self.smtp_from or "")[1].count("@") == 1:
                raise ValueError("REINFORGE_SMTP_HOST needs REINFORGE_SMTP_FROM, the sender's e-mail address")
            if self.smtp_password is not None and self.smtp_tls == "none":
                raise ValueError(
                    "REINFORGE_SMTP_PASSWORD would be sent in clear text: set REINFORGE_SMTP_TLS"
                )
            if (self.smtp_user is None) != (self.smtp_password is None):
                raise ValueError("REINFORGE_SMTP_USER and REINFORGE_SMTP_PASSWORD must be set together")
        return self

    @cached_property
    def home_folder(self) -> Path:
        return self.home.resolve()

    @cached_property
    def guard(self) -> Guard:
        return Guard.allowing(self.allow_hosts)

    @cached_property
    def storage(self) -> str:
        """Object store: `file:///…` or `s3://bucket/prefix`."""
        return self.storage_url or (self.home_folder / "objects").as_uri()

    @cached_property
    def broker_folder(self) -> Path:
        return self.home_folder / "broker"

    @property
    def worker_address(self) -> tuple[str, int] | None:
        if self.worker_listen is None:
            return None
        host, _, port = self.worker_listen.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def worker_port(self) -> int | None:
        return self.worker_address[1] if self.worker_address else None

    def required_database_url(self) -> str:
        if self.database_url is None:
            raise InvalidInput(
                "DATABASE_URL is not set.",
                code="database_url_missing",
                hint="Start the platform with `reinforge up`, or set DATABASE_URL=postgresql://user:password@host/name.",
            )
        return self.database_url.get_secret_value()

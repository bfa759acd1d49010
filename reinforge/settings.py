"""Environment variables of the client, the command line and `reinforge up`.

Empty counts as unset. Variables are read when needed, not at import.
"""

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_HOME = ".reinforge"
DEFAULT_PREFIX = "/var/lib/reinforge"


def variable(name: str) -> str | None:
    """Environment variable, such as the one that a judge's `api_key_env` names; None if unset or empty."""
    return os.environ.get(name) or None


def home() -> Path:
    return Path(variable("REINFORGE_HOME") or DEFAULT_HOME).resolve()


def prefix() -> Path:
    """Folder for files that every user can read, if the platform is started as root."""
    return Path(variable("REINFORGE_PREFIX") or DEFAULT_PREFIX).resolve()


def server_url() -> str | None:
    return variable("REINFORGE_URL")


def api_key() -> str | None:
    return variable("REINFORGE_API_KEY")


def config_folder() -> Path:
    """Parent folder of the credentials of `reinforge login`."""
    return Path(variable("XDG_CONFIG_HOME") or Path.home() / ".config")


def model_cache() -> Path:
    """Folder of the base models that commands download from the hub."""
    return Path(variable("XDG_CACHE_HOME") or Path.home() / ".cache") / "reinforge" / "models"


def bootstrap_api_key() -> str | None:
    return variable("REINFORGE_BOOTSTRAP_API_KEY")


def secret_key() -> str | None:
    return variable("REINFORGE_SECRET_KEY")


def database_url() -> str | None:
    return variable("DATABASE_URL")


def storage_url() -> str | None:
    return variable("STORAGE_URL")


def s3_endpoint_url() -> str | None:
    return variable("S3_ENDPOINT_URL")


def redis_url() -> str | None:
    return variable("REDIS_URL")


def sandbox_url() -> str | None:
    return variable("SANDBOX_URL")


def sandbox_socket() -> str | None:
    return variable("SANDBOX_SOCKET")


def sandbox_variable() -> str | None:
    return next((name for name in ("SANDBOX_URL", "SANDBOX_SOCKET") if variable(name)), None)


def container_image() -> str | None:
    return variable("REINFORGE_CONTAINER")


def plugins_enabled() -> bool:
    return variable("REINFORGE_PLUGINS") != "off"


def log_format() -> str | None:
    """Log format: `text` or `json`; None if unset."""
    return variable("REINFORGE_LOG_FORMAT")


def traces_exported() -> bool:
    names = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    disabled = (variable("OTEL_SDK_DISABLED") or "").lower() == "true"
    return not disabled and any(map(variable, names))


def trace_service_is_set() -> bool:
    return variable("OTEL_SERVICE_NAME") is not None


@dataclass(frozen=True)
class TorchrunRank:
    rank: int
    size: int


def torchrun_rank() -> TorchrunRank | None:
    if variable("TORCHELASTIC_RUN_ID") is None:
        return None
    return TorchrunRank(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))


def runs_in_github_actions() -> bool:
    return variable("GITHUB_ACTIONS") == "true"


def columns_are_set() -> bool:
    """Whether COLUMNS prescribes the output width."""
    return "COLUMNS" in os.environ


def use_openai(base_url: str, api_key: str) -> None:
    """Sets the variables by which OpenAI's clients in this process and its children call `base_url`."""
    os.environ.update(OPENAI_BASE_URL=base_url, OPENAI_API_KEY=api_key)

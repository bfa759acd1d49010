"""Environment variables of the platform's processes."""

import os
from collections.abc import Mapping
from pathlib import Path

from reinforge.platform.places import keep_secret

_BACKEND_ONLY = (
    "DATABASE_URL",
    "STORAGE_URL",
    "S3_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "REINFORGE_BOOTSTRAP_API_KEY",
    "REINFORGE_SECRET_KEY",
    "REINFORGE_SMTP_USER",
    "REINFORGE_SMTP_PASSWORD",
    "REINFORGE_PREVIOUS_WORKER_TOKEN",
    "REINFORGE_METRICS_TOKEN",
)
"""Variables that workers do not get, because untrusted code runs beside workers."""
_NOT_FOR_THE_SANDBOX = (
    *_BACKEND_ONLY,
    "SANDBOX_KEY_FILE",
    "REINFORGE_WORKER_TOKEN",
    "REDIS_URL",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
)
_WORKER_ONLY = ("SANDBOX_KEY_FILE",)
_WORKER_LISTEN = "REINFORGE_WORKER_LISTEN"
_LOOPBACK = "127.0.0.1,localhost,::1"


class PlatformEnvironment:
    """A platform's settings as environment variables of its child processes. Empty ones count as unset."""

    def __init__(
        self,
        home: Path,
        local_url: str,
        database_url: str,
        sandbox_socket: Path,
        bootstrap_api_key: str | None = None,
        *,
        source: Mapping[str, str] | None = None,
    ) -> None:
        source = os.environ if source is None else source
        self._local_url = local_url
        self._all = {name: value for name, value in source.items() if value}
        self._all.setdefault("REINFORGE_URL", local_url)
        self._all.setdefault("STORAGE_URL", (home / "objects").as_uri())
        if "SANDBOX_URL" not in self._all:
            self._all.setdefault("SANDBOX_SOCKET", str(sandbox_socket))
        if "REINFORGE_WORKER_TOKEN" not in self._all:
            self._all["REINFORGE_WORKER_TOKEN"] = keep_secret(home / "worker-token")
        if bootstrap_api_key:
            self._all["REINFORGE_BOOTSTRAP_API_KEY"] = bootstrap_api_key
        self._all |= {
            "REINFORGE_HOME": str(home),
            "DATABASE_URL": database_url,
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": _join(self._all.get("NO_PROXY")),
            "no_proxy": _join(self._all.get("no_proxy")),
        }

    def backend(self) -> dict[str, str]:
        return _without(self._all, _WORKER_ONLY)

    def worker(self) -> dict[str, str]:
        return {**_without(self._all, _BACKEND_ONLY), "REINFORGE_URL": self._worker_url()}

    def _worker_url(self) -> str:
        host, _, port = self._all.get(_WORKER_LISTEN, "").rpartition(":")
        if not port:
            return self._local_url
        return f"http://{'127.0.0.1' if host in ('0.0.0.0', '[::]') else host}:{port}"

    def sandbox(self) -> dict[str, str]:
        return _without(self._all, _NOT_FOR_THE_SANDBOX)


def _without(env: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in names}


def _join(hosts: str | None) -> str:
    return f"{hosts},{_LOOPBACK}" if hosts else _LOOPBACK

"""Every request that the product makes to an address: whose address it is, and so whether it is guarded."""

import ast
from pathlib import Path
from typing import Any

import yaml

from reinforge.net.outbound import ALLOW_VARIABLE
from reinforge.parsing.python_source import parse
from reinforge.platform.environment import PlatformEnvironment

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = {
    "httpx", "httpx_sse", "requests", "aiohttp", "urllib3", "urllib.request", "http.client", "websockets", "openai",
    "smtplib", "ftplib", "xmlrpc.client", "huggingface_hub", "boto3",
}  # fmt: skip
REASONS = {
    # Addresses of users: under `reinforge.net.outbound.Guard`.
    "backend/webhooks/delivery.py": "webhooks",
    "backend/trackers/mlflow.py": "MLflow's tracking URI",
    "worker/environment/tools/openenv_session.py": "OpenEnv servers",
    "worker/rewards/network.py": "judges, endpoint graders and servers of tools",
    # Addresses of whoever runs the platform, or of processes that it has started.
    "backend/notifications/smtp.py": "REINFORGE_SMTP_HOST",
    "reinforge/platform/up.py": "its own backend",
    "reinforge/platform/doctor_workers.py": "the backend of REINFORGE_URL, or its own",
    "reinforge/platform/probe.py": "the address that a health check gives it",
    "reinforge/storage/s3.py": "STORAGE_URL, S3_ENDPOINT_URL",
    "worker/backend_api/client.py": "REINFORGE_URL, and the object store that it sends uploads to",
    "worker/environment/agent/client.py": "REINFORGE_URL",
    "worker/models/hub.py": "HF_ENDPOINT",
    "worker/engine_host/address.py": "REINFORGE_SAMPLER_URLS, or an engine host of this machine, by a socket",
    "worker/engine_host/client/hosted_server.py": "the same",
    "worker/engine_host/client/local.py": "an engine host of this machine, by a socket",
    "worker/engine_host/client/remote.py": "REINFORGE_SAMPLER_URLS",
    "worker/engine_host/relay.py": "vLLM that the engine host has started, by a socket",
    "worker/rollout/vllm/api.py": "vLLM that the worker has started, by a socket",
}
CONNECT = {"create_connection", "open_connection", "connect", "connect_ex", "open_unix_connection"}
SOCKETS = {
    "worker/environment/tools/openenv_session.py": "OpenEnv servers, after the guard has checked them",
    "backend/trackers/proxy.py": "what W&B's library calls, after the guard has checked it",
    "backend/background.py": "DATABASE_URL",
    "backend/data/events.py": "DATABASE_URL",
    "backend/data/migrate.py": "DATABASE_URL",
    "reinforge/platform/up.py": "its own sandbox, by a Unix socket",
    "worker/sandbox/transport/connection.py": "REINFORGE_SANDBOX",
    "worker/sandbox/daemon/peers.py": "another daemon on its own Unix socket",
    "worker/sandbox/daemon/session.py": "its own jail, by a pair of sockets",
}
ON_SOMEBODYS_OWN_MACHINE = ("reinforge/client/", "reinforge/cli/", "reinforge/runner/")


def imported(path: Path) -> set[str]:
    """Names of modules, also those that are imported inside of functions."""
    names = set()
    for node in ast.walk(parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def makes_requests(path: Path) -> bool:
    return any(
        name == client or name.startswith(f"{client}.") for name in imported(path) for client in CLIENTS
    )


def test_every_module_that_makes_requests_is_listed() -> None:
    rooms = [path for room in ("backend", "reinforge", "worker") for path in (ROOT / room).rglob("*.py")]
    assert len(rooms) > 300
    paths = {str(path.relative_to(ROOT)) for path in rooms if makes_requests(path)}
    ours = {path for path in paths if not path.startswith(ON_SOMEBODYS_OWN_MACHINE)}
    assert ours == set(REASONS), "whose addresses does it call? users' go through reinforge.net.outbound"


def opens_sockets(path: Path) -> bool:
    """Without one of those libraries between."""
    tree = parse(path.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return bool(imported(path) & {"socket", "asyncio"}) and bool(used & CONNECT)


def test_every_module_that_opens_sockets_is_listed() -> None:
    rooms = [path for room in ("backend", "reinforge", "worker") for path in (ROOT / room).rglob("*.py")]
    paths = {str(path.relative_to(ROOT)) for path in rooms if opens_sockets(path)}
    assert paths == set(SOCKETS), "whose addresses does it call? users' go through reinforge.net.outbound"


def test_backend_and_workers_get_the_allowed_hosts(tmp_path: Path) -> None:
    variables = {ALLOW_VARIABLE: "vllm.internal"}
    up = PlatformEnvironment(
        tmp_path, "http://127.0.0.1:1", "postgresql://", tmp_path / "s.sock", source=variables
    )
    assert up.backend()[ALLOW_VARIABLE] == up.worker()[ALLOW_VARIABLE] == "vllm.internal"
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    for name in ("api", "background", "worker", "calls"):
        # Without a value Compose takes it from .env; not set there, nothing inside the network is allowed.
        environment = services[name]["environment"]
        assert ALLOW_VARIABLE in environment and environment[ALLOW_VARIABLE] is None, name

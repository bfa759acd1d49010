"""Servers on engine hosts, for jobs and for the serving process."""

import logging
from collections.abc import Callable
from pathlib import Path

from worker.engine_host.client.fallback import SharedServer
from worker.engine_host.client.hosted_server import HostedServer
from worker.engine_host.client.local import LocalHosts
from worker.engine_host.client.remote import (
    RemoteHost,
    SamplerHostFailure,
    check_facts,
    host_facts,
    remote_addresses,
)
from worker.machine.vllm_python import vllm_python
from worker.models.sources import model_store
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.server import Notify, Progress, SamplerServer
from worker.settings import read_settings

log = logging.getLogger(__name__)

HOSTS = "engine-hosts"


def model_hash(model: Path) -> str:
    return model_store(read_settings()).content_hash(model)


def remote_servers(options: Options, *, notify: Notify, progress: Progress) -> list[SamplerServer]:
    """Servers on the engine hosts in REINFORGE_SAMPLER_URLS."""
    addresses = remote_addresses()
    if not addresses:
        return []
    sha256 = model_hash(options.model)
    sources = [
        RemoteHost(address, sha256, options.dtype, options.max_model_len, options.rank)
        for address in addresses
    ]
    return [HostedServer(source, notify=notify, progress=progress) for source in sources]


def remote_server(options: Options, *, longest: int, progress: Progress) -> HostedServer | None:
    """Server on the first engine host in REINFORGE_SAMPLER_URLS that has the model; None if none has."""
    addresses = remote_addresses()
    if not addresses:
        return None
    sha256 = model_hash(options.model)
    for address in addresses:
        try:
            facts = host_facts(address, patience=0.0)
            check_facts(address, facts, sha256)
        except SamplerHostFailure as error:
            log.info("not served there: %s", error.message)
            continue
        return HostedServer(
            RemoteHost(address, sha256, options.dtype, longest, options.rank), progress=progress
        )
    return None


def shared_server(
    options: Options,
    own: Callable[[], SamplerServer],
    *,
    context: int | None,
    longest: int | None = None,
    notify: Notify = lambda _: None,
    progress: Progress = lambda _: None,
) -> SharedServer:
    """Server on this machine's engine host. own: makes one for this client alone. context: the model's longest
    rows. longest: the least that the client needs; `options.max_model_len` by default.
    """
    python = vllm_python()
    assert python is not None
    worker_settings = read_settings()
    source = LocalHosts(
        worker_settings.folder(HOSTS),
        python,
        options,
        model_hash(options.model),
        longest or options.max_model_len,
        options.rank,
        # A GPU is free for others as soon as its jobs have ended.
        0.0 if options.device == "cuda" else worker_settings.serving_idle_seconds,
        context,
    )
    notify(f"Sharing vLLM; its log is {source.log}")
    return SharedServer(HostedServer(source, notify=notify, progress=progress), own, notify=notify)

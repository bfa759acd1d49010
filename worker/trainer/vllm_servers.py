"""Servers of a job's vLLM engine."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import torch

from worker.engine_host.client.servers import remote_servers, shared_server
from worker.machine import settings
from worker.machine.vllm_python import vllm_python
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.process import Stage
from worker.rollout.vllm.server import Notify, Progress, SamplerServer, VllmServer
from worker.training.reporting.job_reporter import JobReporter

_GIB = 2**30


def sampler_servers(
    chosen: Sequence[Options], folder: Path, context: int | None, job_reporter: JobReporter
) -> list[SamplerServer]:
    """context: the model's longest rows."""
    progress = _StartProgress(len(chosen), job_reporter)
    if servers := remote_servers(chosen[0], notify=notices(job_reporter, ""), progress=progress.of(0)):
        return servers
    # Without GPUs, the servers of a job would all be the same host, which is found by model and devices.
    shared = settings.vllm_shared() and (len(chosen) == 1 or chosen[0].device == "cuda")
    return [
        _server(
            options, folder, context, number, notices(job_reporter, name), progress.of(number), shared=shared
        )
        for number, (name, options) in enumerate(zip(names(len(chosen)), chosen, strict=True))
    ]


def _server(
    options: Options,
    folder: Path,
    context: int | None,
    number: int,
    notify: Notify,
    progress: Progress,
    *,
    shared: bool,
) -> SamplerServer:
    def own() -> SamplerServer:
        python = vllm_python()
        assert python is not None
        log = folder / (f"vllm-{number + 1}.log" if number else "vllm.log")
        room = torch.cuda.empty_cache
        return VllmServer(python, options, log, notify=notify, progress=progress, make_room=room)

    if options.device == "cuda":
        notify(describe(options))
    if shared:
        return shared_server(options, own, context=context, notify=notify, progress=progress)
    return own()


def names(count: int) -> list[str]:
    """Names of servers in messages; empty for an only one."""
    return [f"vLLM server {number + 1}" for number in range(count)] if count > 1 else [""]


def notices(
    job_reporter: JobReporter, name: str, level: Literal["info", "warning"] = "info"
) -> Callable[[str], None]:
    return lambda message: job_reporter.log(level, f"{name}: {message}" if name else message)


class _StartProgress:
    """Reports the stage of the server that is behind the others."""

    def __init__(self, count: int, job_reporter: JobReporter) -> None:
        self._done = [0] * count
        self._job_reporter = job_reporter

    def of(self, number: int) -> Callable[[Stage], None]:
        def report(stage: Stage) -> None:
            self._done[number] = stage.done
            self._job_reporter.phase("starting_engine", 0, min(self._done), stage.total)

        return report


def describe(chosen: Options) -> str:
    share = f"{chosen.gpu_memory or chosen.share:.0%} of the GPU's memory"
    if chosen.cache_bytes is not None and chosen.gpu_memory is None:
        share += f", {chosen.cache_bytes / _GIB:.1f} GiB of it for keys and values"
    during = {
        "no": "it keeps all of it during updates",
        "cache": "it gives its cache back during updates",
        "weights": "cache and weights give way to updates",
    }
    return (
        f"vLLM gets {share}: up to {chosen.sequences} completions at once, prompt and completion of up to "
        f"{chosen.max_model_len:,} tokens; {during[chosen.sleeps]}"
    )

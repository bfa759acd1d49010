"""Builds a job's rollout engine."""

from collections.abc import Callable
from pathlib import Path

import torch

from reinforge.errors import JobFailure
from reinforge.spec import JobSpec
from worker.engine_host.client.remote import check_hosts
from worker.engine_host.client.servers import model_hash
from worker.machine import settings
from worker.machine.gpus import gpu_present
from worker.machine.vllm_checks import check_devices, check_gpu_build, check_settings
from worker.machine.vllm_python import VARIABLE, vllm_missing, vllm_version
from worker.policy.host import LocalHost, SamplingCopy
from worker.policy.load import LoadedModel
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.ranked import RankedPolicy
from worker.rollout.cpu import ParallelEngines, SharedWeights, process_count, with_forks
from worker.rollout.engine import RolloutEngine
from worker.rollout.text import Text
from worker.rollout.transformers_engine import TransformersEngine
from worker.trainer.vllm_engine import server_options, vllm_engine
from worker.training.reporting.job_reporter import JobReporter


def check_engine(spec: JobSpec, model: Path | None = None) -> dict[str, str]:
    if spec.rollout.engine != "vllm":
        return {}
    check_settings()
    if settings.sampler_urls():
        version = check_hosts(None if model is None else model_hash(model))
        return {"vllm": version or ""}
    version = vllm_version()
    if version is None:
        raise JobFailure(
            f"The job is to be sampled with vLLM, which this worker does not have: {vllm_missing()}.",
            code="engine_missing",
            hint=f"Run `make vllm` on the worker, or set {VARIABLE} to an interpreter that has vLLM; then resume the "
            "job. Or start it again with rollout.engine transformers.",
            retryable=True,
        )
    if gpu_present():
        check_gpu_build()
        if model is not None:
            check_devices(model)
    return {"vllm": version}


def rollout_engine(
    spec: JobSpec,
    base: LoadedModel,
    text: Text,
    host: LocalHost,
    policy: LoraPolicy,
    job_reporter: JobReporter,
    model: Path,
    folder: Path,
    longest: int,
    ranked: RankedPolicy | None = None,
) -> RolloutEngine:
    """longest: tokens of the longest conversation. ranked: `policy` on all ranks. Raises JobFailure like
    `check_engine`.
    """
    ahead = host.sampling_copy(policy) if spec.rollout.ahead else None
    if spec.rollout.engine == "vllm":
        check_engine(spec)
        chosen = server_options(spec, base, model, longest)
        return vllm_engine(chosen, spec, base, ranked or policy, ahead, job_reporter, folder)
    prompts, completions = spec.rollout.prompts_per_step, spec.rollout.completions_per_prompt

    def warn(message: str) -> None:
        job_reporter.log("warning", message)

    own = own_engine(prompts, completions, base, text, host, policy, warn, ahead=ahead)
    if isinstance(own, ParallelEngines):
        who = "forks of the trainer" if ahead else "the trainer and forks of it"
        job_reporter.log("info", f"Completions are sampled by {own.processes} processes: {who}")
    return own


def own_engine(
    prompts: int,
    completions: int,
    base: LoadedModel,
    text: Text,
    host: LocalHost,
    policy: LoraPolicy,
    warn: Callable[[str], None],
    *,
    ahead: SamplingCopy | None = None,
) -> RolloutEngine:
    """Engine in this process, with forks on idle cores. prompts: sampled at once. completions: per prompt.
    ahead: copy that samples while `policy` is trained, if possible in forks, so that the two share no
    interpreter.
    """
    forkable = torch.get_num_threads() == 1 and base.model.device.type == "cpu"
    processes = process_count(host.threads.count if forkable else 1, prompts, completions)
    if ahead is None:
        engine = TransformersEngine(base.model, text.raw, host.sampling_as, copies=processes)
        in_forks = processes > 1
    else:
        model, sampling_as = ahead.host.base.model, ahead.host.sampling_as
        engine = TransformersEngine(model, text.raw, sampling_as, copies=processes, refresh=ahead.refresh)
        in_forks = forkable
    sampler: RolloutEngine = engine
    if in_forks:
        weights = SharedWeights(policy.weights, policy.load_weights)
        sampler = with_forks(engine, processes, weights, warn, first_samples=ahead is None)
    # Set after the forks, which cannot write to the log.
    engine.warn = warn
    return sampler

"""Checks before a vLLM server starts on a GPU."""

from pathlib import Path

from transformers import AutoConfig

from reinforge.errors import InvalidInput, JobFailure
from worker.machine import settings
from worker.machine.sampler_groups import GROUPS_HINT, NO_SERVERS, NO_SERVERS_HINT, groups_problem
from worker.machine.vllm_compiler import HINT, missing_compiler
from worker.machine.vllm_python import CPU_BUILD, vllm_build, vllm_python
from worker.rollout.vllm.tensor_parallel import check_tensor_parallel
from worker.settings import read_settings


def check_settings() -> None:
    """Check the worker's settings, as a worker does at its start, for `reinforge train`. Raises JobFailure
    `invalid_setting`.
    """
    try:
        read_settings()
    except InvalidInput as error:
        raise JobFailure(error.message, code=error.code, hint=error.hint, retryable=True) from error


def check_gpu_build() -> None:
    """Raise JobFailure `engine_missing` for a CPU build of vLLM, `vllm_needs_compiler` without C compiler."""
    python = vllm_python()
    if python is None:
        return
    if vllm_build() == CPU_BUILD:
        raise JobFailure(
            f"The vLLM of this worker is {CPU_BUILD}, which cannot use a GPU.",
            code="engine_missing",
            hint="Remove its environment and run `make vllm` on the worker, or set REINFORGE_DEVICE=cpu; then resume.",
            retryable=True,
        )
    if problem := missing_compiler(python):
        raise JobFailure(problem, code="vllm_needs_compiler", hint=HINT, retryable=True)


def check_devices(model: Path) -> None:
    """Check the GPUs of a job's vLLM servers. Raises JobFailure `impossible_placement`."""
    variable, groups = settings.devices_variable(), [*map(settings.split_names, settings.vllm_groups())]
    if settings.vllm_servers() > 1:
        raise JobFailure(NO_SERVERS, code="impossible_placement", hint=NO_SERVERS_HINT, retryable=True)
    if problem := groups_problem(groups):
        raise JobFailure(
            f"{variable} {problem}", code="impossible_placement", hint=GROUPS_HINT, retryable=True
        )
    if len(groups[0]) < 2:
        return
    try:
        config = AutoConfig.from_pretrained(model, local_files_only=True, trust_remote_code=False)
    except Exception:  # noqa: BLE001 - whoever loads the model says what is wrong with it
        return
    check_tensor_parallel(config, len(groups[0]), variable)

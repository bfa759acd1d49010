"""Environment variables of the worker's computing processes. Standard library only."""

import os
from pathlib import Path

DEVICE = "REINFORGE_DEVICE"
GPU_SHARE = "REINFORGE_GPU_SHARE"
VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
VLLM_PYTHON = "REINFORGE_VLLM_PYTHON"
VLLM_GPU_MEMORY = "REINFORGE_VLLM_GPU_MEMORY"
VLLM_DEVICES = "REINFORGE_VLLM_DEVICES"
SAMPLER_DEVICES = "REINFORGE_SAMPLER_DEVICES"
VLLM_SERVERS = "REINFORGE_VLLM_SERVERS"
VLLM_SLEEP = "REINFORGE_VLLM_SLEEP"
VLLM_SHARED = "REINFORGE_VLLM_SHARED"
SAMPLER_URLS = "REINFORGE_SAMPLER_URLS"
SAMPLER_TOKEN = "REINFORGE_SAMPLER_TOKEN"
SAMPLER_TOKEN_FILE = "REINFORGE_SAMPLER_TOKEN_FILE"
SAMPLER_CA = "REINFORGE_SAMPLER_CA_FILE"
RECORD_DESCRIPTOR = "REINFORGE_RECORD_FD"
REWARD_SECRETS = "REINFORGE_REWARD_SECRETS"


def variable(name: str) -> str | None:
    return os.environ.get(name) or None


def requested_device() -> str:
    return variable(DEVICE) or "auto"


def visible_devices() -> str | None:
    """Value of CUDA_VISIBLE_DEVICES: empty for no device, None if unset."""
    return os.environ.get(VISIBLE_DEVICES)


def hide_devices() -> None:
    if requested_device() == "cpu":
        os.environ[VISIBLE_DEVICES] = ""


def gpu_share() -> float | None:
    share = variable(GPU_SHARE)
    return float(share) if share else None


def threads_are_set() -> bool:
    return "OMP_NUM_THREADS" in os.environ


def vllm_python() -> Path | None:
    path = variable(VLLM_PYTHON)
    return Path(path) if path else None


def vllm_gpu_memory() -> float | None:
    share = variable(VLLM_GPU_MEMORY)
    return float(share) if share else None


def vllm_devices() -> list[str]:
    """GPUs of the only vLLM server, or of the first one."""
    return split_names(vllm_groups()[0])


def vllm_groups() -> list[str]:
    """GPUs of each vLLM server, such as `2,3`. A worker sets them for its trainer under another name than
    its owner does, empty for the trainer's own GPU.
    """
    return split_groups(os.environ.get(devices_variable(), "")) or [""]


def devices_variable() -> str:
    return VLLM_DEVICES if VLLM_DEVICES in os.environ else SAMPLER_DEVICES


def split_groups(value: str) -> list[str]:
    """Groups of `2,3;4,5`. A last `;` ends the only group of `2,3;`."""
    return value.strip().removesuffix(";").split(";") if value.strip() else []


def split_names(group: str) -> list[str]:
    return [word.strip() for word in group.split(",") if word.strip()]


def vllm_servers() -> int:
    return int(variable(VLLM_SERVERS) or 1)


def vllm_sleep() -> str | None:
    return variable(VLLM_SLEEP)


def vllm_shared() -> bool:
    """Whether jobs, playground, evaluations and deployments share a vLLM server per base model."""
    return variable(VLLM_SHARED) == "1"


def sampler_urls() -> list[str]:
    return [word.strip() for word in (variable(SAMPLER_URLS) or "").split(",") if word.strip()]


def sampler_token() -> str | None:
    return variable(SAMPLER_TOKEN)


def sampler_token_file() -> Path | None:
    path = variable(SAMPLER_TOKEN_FILE)
    return Path(path) if path else None


def sampler_ca() -> Path | None:
    path = variable(SAMPLER_CA)
    return Path(path) if path else None


def allowed_hosts() -> str:
    return variable("REINFORGE_ALLOW_HOSTS") or ""


def hub_endpoint() -> str | None:
    return variable("HF_ENDPOINT")


def sandbox_address() -> str:
    return variable("SANDBOX_URL") or variable("SANDBOX_SOCKET") or ""


def sandbox_key_file() -> Path | None:
    path = variable("SANDBOX_KEY_FILE")
    return Path(path) if path else None


def record_descriptor() -> int:
    return int(variable(RECORD_DESCRIPTOR) or 3)


def take_reward_secrets() -> str:
    return os.environ.pop(REWARD_SECRETS, "{}")


def plugins_enabled() -> bool:
    """Like `reinforge.settings.plugins_enabled`, for `worker.algorithm`, which does not import `reinforge`."""
    return variable("REINFORGE_PLUGINS") != "off"


def rank_seconds() -> float | None:
    """Longest wait for another rank, in seconds; None if unset."""
    seconds = variable("REINFORGE_RANK_SECONDS")
    return float(seconds) if seconds else None


def torchrun_rank() -> tuple[int, int] | None:
    """Rank and number of ranks, if torchrun started this process."""
    if variable("TORCHELASTIC_RUN_ID") is None:
        return None
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def use_local_device() -> None:
    """Hide the GPUs of torchrun's other ranks on this host."""
    local = variable("LOCAL_RANK")
    if torchrun_rank() is None or local is None or requested_device() == "cpu":
        return
    names = visible_devices()
    if names is None:
        os.environ[VISIBLE_DEVICES] = local
    elif names:
        os.environ[VISIBLE_DEVICES] = (names.split(",") + [""] * int(local))[int(local)].strip()


def use_loopback() -> None:
    """Make Gloo connect the ranks over the loopback interface, unless GLOO_SOCKET_IFNAME is set."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

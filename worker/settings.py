"""Settings of a worker process."""

import socket
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from reinforge.errors import InvalidInput
from worker.machine.sampler_url import check_sampler_url

DEFAULT_URL = "http://127.0.0.1:8321"


class WorkerSettings(BaseSettings):
    """Settings of a worker, described in docs/install.md. None of them gives access to the database."""

    model_config = SettingsConfigDict(extra="ignore", populate_by_name=True, env_ignore_empty=True)

    home: Path = Field(default=Path(".reinforge"), validation_alias="REINFORGE_HOME")
    backend_url: str = Field(default=DEFAULT_URL, validation_alias="REINFORGE_URL")
    worker_token: str = Field(default="", validation_alias="REINFORGE_WORKER_TOKEN")
    redis_url: str | None = Field(default=None, validation_alias="REDIS_URL")
    """Address of Redis; None: a polled folder in `home`."""
    sandbox_socket: Path | None = Field(default=None, validation_alias="SANDBOX_SOCKET")
    sandbox_url: str | None = Field(default=None, validation_alias="SANDBOX_URL")
    sample_threads: int = Field(default=4, ge=0, le=64, validation_alias="REINFORGE_SAMPLE_THREADS")
    serving_idle_seconds: float = Field(
        default=600.0, gt=0, validation_alias="REINFORGE_SERVING_IDLE_SECONDS"
    )
    serving_threads: int = Field(default=1, ge=1, le=256, validation_alias="REINFORGE_SERVING_THREADS")
    """CPU threads of the sampling process, which shares the machine with training."""
    serving_adapters: int = Field(default=8, ge=1, le=256, validation_alias="REINFORGE_SERVING_ADAPTERS")
    serving_engine: Literal["auto", "transformers", "vllm"] = Field(
        default="auto", validation_alias="REINFORGE_SERVING_ENGINE"
    )
    """Engine that samples from served models; `auto` is vLLM where it and an NVIDIA device are available."""
    stall_seconds: str = Field(default="", validation_alias="REINFORGE_STALL_SECONDS")
    """Longest time without a report from a trainer (`worker.supervisor.watchdog`)."""
    model_folders: str = Field(default="", validation_alias="REINFORGE_MODEL_FOLDERS")
    """Folders to read models from: absolute paths separated by `:`; unset: `own-models` in `home`."""
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", validation_alias="REINFORGE_DEVICE")
    """Device of jobs; `auto` is a GPU if there is one. If torch cannot open it, the job ends with
    `gpu_unavailable`.
    """
    trainer_devices: str = Field(default="", validation_alias="REINFORGE_TRAINER_DEVICES")
    """GPUs for trainers: comma-separated nvidia-smi numbers or ids; unset: all that are not for samplers."""
    sampler_devices: str = Field(
        default="", validation_alias=AliasChoices("REINFORGE_SAMPLER_DEVICES", "REINFORGE_VLLM_DEVICES")
    )
    """GPUs for jobs' vLLM servers; unset: each shares its trainer's GPU. Each job takes one of `2,3`, and
    all of `2,3;4,5`, for two servers on two GPUs each.
    """
    vllm_servers: int = Field(default=1, ge=1, le=64, validation_alias="REINFORGE_VLLM_SERVERS")
    """vLLM servers of a job without GPUs."""
    gpus_per_job: int | None = Field(default=None, ge=1, le=2, validation_alias="REINFORGE_GPUS_PER_JOB")
    """GPUs per job: with 2, each job also takes a GPU for its vLLM server."""
    jobs_per_gpu: int = Field(default=1, ge=1, le=64, validation_alias="REINFORGE_JOBS_PER_GPU")
    """Jobs that share a GPU, the same on all workers of a machine."""
    vllm_gpu_memory: float | None = Field(
        default=None, gt=0, le=1, validation_alias="REINFORGE_VLLM_GPU_MEMORY"
    )
    """vLLM's share of a GPU's memory; unset: what the job needs."""
    vllm_sleep: Literal["on", "cache", "off"] | None = Field(
        default=None, validation_alias="REINFORGE_VLLM_SLEEP"
    )
    """Memory that vLLM releases during updates; unset: what the trainer needs."""
    vllm_shared: Literal["0", "1"] = Field(default="0", validation_alias="REINFORGE_VLLM_SHARED")
    """`1`: jobs, playground, evaluations and deployments on one base model share a vLLM server."""
    sampler_urls: str = Field(default="", validation_alias="REINFORGE_SAMPLER_URLS")
    """Addresses of engine hosts on other machines, comma-separated; their token is not a setting of this class."""
    rank_seconds: float | None = Field(default=None, gt=0, validation_alias="REINFORGE_RANK_SECONDS")
    """Longest wait for another rank of a job, in seconds; unset: 1500."""
    gpu_locks: Path | None = Field(default=None, validation_alias="REINFORGE_GPU_LOCKS")
    """Folder of the GPU locks; unset: `gpus` in `home`."""

    @field_validator("sampler_urls")
    @classmethod
    def _check_sampler_urls(cls, value: str) -> str:
        for url in filter(None, (word.strip() for word in value.split(","))):
            check_sampler_url(url)
        return value

    @property
    def hostname(self) -> str:
        return socket.gethostname()

    @property
    def sandbox(self) -> str | None:
        return self.sandbox_url or (str(self.sandbox_socket) if self.sandbox_socket is not None else None)

    def required_token(self) -> str:
        if not self.worker_token:
            raise InvalidInput(
                "REINFORGE_WORKER_TOKEN is not set, so the backend would refuse this worker.",
                code="worker_token_missing",
                hint="Start it with `reinforge up`, or set the same REINFORGE_WORKER_TOKEN for backend and worker.",
            )
        return self.worker_token

    def folder(self, *parts: str) -> Path:
        folder = self.home.resolve().joinpath(*parts)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def read_settings() -> WorkerSettings:
    """Read the settings from the environment. Raises InvalidInput `invalid_setting`, with the variable as
    `param`.
    """
    try:
        return WorkerSettings()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        variable = str(first["loc"][0])
        raise InvalidInput(
            f"{variable} is {first['input']!r}: {first['msg'][:1].lower()}{first['msg'][1:]}.",
            code="invalid_setting",
            param=variable,
            hint="docs/install.md#settings lists the settings of a worker. Correct or unset it, then start again.",
        ) from error

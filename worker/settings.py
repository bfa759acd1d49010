"""Settings of a worker process."""

import socket
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from reinforge.errors import InvalidInput

DEFAULT_URL = "http://127.0.0.1:8321"


class WorkerSettings(BaseSettings):
    """Settings from the environment. Nothing here gives access to the database."""

    model_config = SettingsConfigDict(extra="ignore", populate_by_name=True, env_ignore_empty=True)

    home: Path = Field(default=Path(".reinforge"), validation_alias="REINFORGE_HOME")
    """Folder for run folders, caches, downloaded models and the folder broker."""
    backend_url: str = Field(default=DEFAULT_URL, validation_alias="REINFORGE_URL")
    worker_token: str = Field(default="", validation_alias="REINFORGE_WORKER_TOKEN")
    redis_url: str | None = Field(default=None, validation_alias="REDIS_URL")
    """Broker; unset: a polled folder in `home`."""
    sandbox_socket: Path | None = Field(default=None, validation_alias="SANDBOX_SOCKET")
    """Where sandboxd listens; unset: this worker cannot run code rewards."""
    sandbox_url: str | None = Field(default=None, validation_alias="SANDBOX_URL")
    """A sandbox on another machine (`tcp://host:port`); wins over the socket."""
    sample_threads: int = Field(default=4, ge=0, le=64, validation_alias="REINFORGE_SAMPLE_THREADS")
    """Concurrent sampling requests of one `worker calls` process; 0: none."""
    serving_idle_seconds: float = Field(
        default=600.0, gt=0, validation_alias="REINFORGE_SERVING_IDLE_SECONDS"
    )
    """The sampling process ends after so long without a request."""
    serving_threads: int = Field(default=1, ge=1, le=256, validation_alias="REINFORGE_SERVING_THREADS")
    """The sampling process's CPU threads; training shares the machine."""
    serving_adapters: int = Field(default=8, ge=1, le=256, validation_alias="REINFORGE_SERVING_ADAPTERS")
    """Adapters kept in memory per base model; the least recently used one is evicted."""
    serving_engine: Literal["auto", "transformers", "vllm"] = Field(
        default="auto", validation_alias="REINFORGE_SERVING_ENGINE"
    )
    """Engine that samples on demand: the process itself or a vLLM server (`make vllm`). auto: vLLM
    where it and an NVIDIA device are available.
    """
    stall_seconds: str = Field(default="", validation_alias="REINFORGE_STALL_SECONDS")
    """A trainer that reports nothing for so long is ended and retried: for all phases or by phase
    (`worker.supervisor.watchdog`).
    """
    model_folders: str = Field(default="", validation_alias="REINFORGE_MODEL_FOLDERS")
    """Folders below which editors may name models, absolute, separated by `:`; unset: `own-models`
    in `home`.
    """
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", validation_alias="REINFORGE_DEVICE")
    """Device of jobs, rewards and deployments. auto: a GPU if there is one; if torch cannot open it,
    the job ends with `gpu_unavailable`. Processes read the variable themselves.
    """
    trainer_devices: str = Field(default="", validation_alias="REINFORGE_TRAINER_DEVICES")
    """GPUs for trainers, by nvidia-smi number or id, comma-separated; unset: all that samplers leave."""
    sampler_devices: str = Field(
        default="", validation_alias=AliasChoices("REINFORGE_SAMPLER_DEVICES", "REINFORGE_VLLM_DEVICES")
    )
    """GPUs for jobs' vLLM servers, one each; unset: the trainer's own."""
    gpus_per_job: int | None = Field(default=None, ge=1, le=2, validation_alias="REINFORGE_GPUS_PER_JOB")
    """2: each job also takes a GPU for its vLLM server."""
    jobs_per_gpu: int = Field(default=1, ge=1, le=64, validation_alias="REINFORGE_JOBS_PER_GPU")
    """Jobs that may share one GPU; the same on all workers of a machine."""
    gpu_locks: Path | None = Field(default=None, validation_alias="REINFORGE_GPU_LOCKS")
    """Folder of the locks that assign a machine's GPUs to its workers; unset: `gpus` in `home`."""

    @property
    def hostname(self) -> str:
        return socket.gethostname()

    @property
    def sandbox(self) -> str | None:
        return self.sandbox_url or (str(self.sandbox_socket) if self.sandbox_socket is not None else None)

    def required_token(self) -> str:
        """The secret shared with the backend. Raises InvalidInput."""
        if not self.worker_token:
            raise InvalidInput(
                "REINFORGE_WORKER_TOKEN is not set, so the backend would refuse this worker.",
                code="worker_token_missing",
                hint="Start it with `reinforge up`, or set the same REINFORGE_WORKER_TOKEN for backend and worker.",
            )
        return self.worker_token

    def folder(self, *parts: str) -> Path:
        """A folder below `home`, private to this user, created if missing."""
        folder = self.home.resolve().joinpath(*parts)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

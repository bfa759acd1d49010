"""What a worker process is told by its environment."""

import socket
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from reinforge.errors import InvalidInput

DEFAULT_URL = "http://127.0.0.1:8321"


class WorkerSettings(BaseSettings):
    """Read from the environment; every field names its variable. Nothing here gives access to the database."""

    model_config = SettingsConfigDict(extra="ignore", populate_by_name=True, env_ignore_empty=True)

    home: Path = Field(default=Path(".reinforge"), validation_alias="REINFORGE_HOME")
    """Folder for run folders, caches, downloaded models and the folder broker."""
    backend_url: str = Field(default=DEFAULT_URL, validation_alias="REINFORGE_URL")
    worker_token: str = Field(default="", validation_alias="REINFORGE_WORKER_TOKEN")
    redis_url: str | None = Field(default=None, validation_alias="REDIS_URL")
    """Broker; unset: a folder in `home`, polled."""
    sandbox_socket: Path | None = Field(default=None, validation_alias="SANDBOX_SOCKET")
    """Where sandboxd listens; unset: code rewards cannot be validated, tested or trained with here."""
    sandbox_url: str | None = Field(default=None, validation_alias="SANDBOX_URL")
    """A sandbox on another machine (`tcp://host:port`); wins over the socket. See `worker.rewards.sandbox_access`."""
    sample_threads: int = Field(default=4, ge=0, le=64, validation_alias="REINFORGE_SAMPLE_THREADS")
    """Requests to sample that one `worker calls` process serves at the same time; 0: none."""
    serving_idle_seconds: float = Field(
        default=600.0, gt=0, validation_alias="REINFORGE_SERVING_IDLE_SECONDS"
    )
    """The process that samples ends, and gives its memory back, after so long without a request."""
    serving_threads: int = Field(default=1, ge=1, le=256, validation_alias="REINFORGE_SERVING_THREADS")
    """Its threads for arithmetic on the CPU; training shares the machine."""
    serving_adapters: int = Field(default=8, ge=1, le=256, validation_alias="REINFORGE_SERVING_ADAPTERS")
    """Adapters that it keeps in memory over one base model; the least recently used one goes first."""
    serving_engine: Literal["auto", "transformers", "vllm"] = Field(
        default="auto", validation_alias="REINFORGE_SERVING_ENGINE"
    )
    """What samples on demand: the process itself, or a vLLM server of its own (`make vllm`); jobs say for themselves.
    auto: vLLM where there are an NVIDIA device and vLLM (`worker.serving_client.engine_choice`)."""
    stall_seconds: str = Field(default="", validation_alias="REINFORGE_STALL_SECONDS")
    """A trainer that reports nothing for so long, not even progress inside of a phase, is ended and tried again: for
    all phases or by phase (`worker.supervisor.watchdog`)."""
    model_folders: str = Field(default="", validation_alias="REINFORGE_MODEL_FOLDERS")
    """Folders below which editors may name models, absolute paths with `:` between; unset: `own-models` in `home`."""
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", validation_alias="REINFORGE_DEVICE")
    """What jobs, rewards and deployments compute on. auto: a GPU where there is one; one that torch cannot open ends a
    job with `gpu_unavailable`. cpu: never a GPU. Processes read the variable themselves
    (`worker.machine.torch_device`)."""
    trainer_devices: str = Field(default="", validation_alias="REINFORGE_TRAINER_DEVICES")
    """GPUs that trainers may take, by their numbers in nvidia-smi or their ids, with commas; unset: all that samplers
    leave. Each job takes one."""
    sampler_devices: str = Field(
        default="", validation_alias=AliasChoices("REINFORGE_SAMPLER_DEVICES", "REINFORGE_VLLM_DEVICES")
    )
    """GPUs for the vLLM servers of jobs, one for each; unset: the trainer's own."""
    gpus_per_job: int | None = Field(default=None, ge=1, le=2, validation_alias="REINFORGE_GPUS_PER_JOB")
    """2: each job takes a GPU for its vLLM server as well. What else could use more there is not."""
    jobs_per_gpu: int = Field(default=1, ge=1, le=64, validation_alias="REINFORGE_JOBS_PER_GPU")
    """Jobs that may share one GPU; the same number on all workers of a machine."""
    gpu_locks: Path | None = Field(default=None, validation_alias="REINFORGE_GPU_LOCKS")
    """Folder of the locks by which workers of one machine keep off each other's GPUs; unset: `gpus` in `home`."""

    @property
    def hostname(self) -> str:
        """Shown in the list of workers."""
        return socket.gethostname()

    @property
    def sandbox(self) -> str | None:
        """Address of the sandbox, if there is one."""
        return self.sandbox_url or (str(self.sandbox_socket) if self.sandbox_socket is not None else None)

    def required_token(self) -> str:
        """The secret shared with the backend. Raises InvalidInput when there is none."""
        if not self.worker_token:
            raise InvalidInput(
                "REINFORGE_WORKER_TOKEN is not set, so the backend would refuse this worker.",
                code="worker_token_missing",
                hint="Start it with `reinforge up`, or set the same REINFORGE_WORKER_TOKEN for backend and worker.",
            )
        return self.worker_token

    def folder(self, *parts: str) -> Path:
        """A folder below `home` that only we can read, made when missing."""
        folder = self.home.resolve().joinpath(*parts)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

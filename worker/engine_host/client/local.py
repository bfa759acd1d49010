"""Engine hosts of this machine: the first client starts one, the others find it.

A host does not end with the client that started it: others may use it by then. It runs in a session of its own
and ends by itself when it is unused (`run`).
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel

from reinforge import __version__
from reinforge.errors import JobFailure
from worker.engine_host.address import HostAddress, over_socket
from worker.engine_host.protocol import PROTOCOL, HostFacts, HostLease, LeaseRequest, LocalProcess
from worker.machine import settings
from worker.rollout.vllm.options import Options, allowed_rank

COMMAND: tuple[str, ...] = (sys.executable, "-P", "-m", "worker.engine_host")
NOTE, LOCK, LOG = "host.json", "lock", "vllm.log"
LORAS, HELD = 4, 16
"""Most adapters in one batch and in vLLM's memory."""
LEAST_RANK = 16
CPU_ROW_TOKENS = 1920
"""Longest rows on a CPU that do not enlarge vLLM's batches (`Options.arguments`)."""
START_SECONDS = 60.0
END_SECONDS = 30.0
_POLL_SECONDS = 0.05


class HostTooSmall(JobFailure):
    """The running host was started for shorter rows or smaller adapters, and others use it."""


class HostNote(BaseModel):
    socket: Path
    folder: Path
    process: LocalProcess


@dataclass(frozen=True, slots=True)
class LocalHosts:
    home: Path
    """Folder of all engine hosts of a worker's home."""
    python: Path
    options: Options
    model_sha256: str
    longest: int
    """Most tokens of a row that the client needs; `options` may allow more."""
    rank: int
    idle_seconds: float
    context: int | None = None
    """The model's longest rows, if known."""

    @property
    def name(self) -> str:
        return "the shared engine host"

    @property
    def folder(self) -> Path:
        return self.home / host_key(self.options, self.model_sha256)

    @property
    def log(self) -> Path:
        return self.folder / LOG

    def open(self) -> tuple[HostAddress, HostLease]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self.folder / LOCK):
            address = self._running() or self._start()
            with address.client() as client:
                answer = client.post("/v1/leases", json=self._request().model_dump())
        if answer.status_code == 201:
            return address, HostLease.model_validate_json(answer.content)
        error = answer.json()["error"]
        failure = HostTooSmall if error["code"] == "sampler_host_too_small" else JobFailure
        raise failure(error["message"], code=error["code"], hint=error["hint"], retryable=True)

    def _request(self) -> LeaseRequest:
        return LeaseRequest(
            protocol=PROTOCOL,
            model_sha256=self.model_sha256,
            dtype=self.options.dtype,
            longest=self.longest,
            rank=self.rank,
            client=LocalProcess.of(os.getpid()),
            worker=LocalProcess.of(os.getppid()),
        )

    def _running(self) -> HostAddress | None:
        """The host that runs; an unused one that is too small or of another release is ended."""
        note = read_note(self.folder)
        if note is None:
            return None
        address = over_socket(note.socket)
        with address.client() as client:
            try:
                facts = HostFacts.model_validate_json(client.get("/v1/host").content)
                fits = facts.protocol == PROTOCOL and facts.release == __version__
                fits = fits and facts.max_model_len >= self.longest and facts.max_rank >= self.rank
                if fits or client.post("/v1/end").status_code != 202:
                    return address
            except (httpx.HTTPError, ValueError):
                pass  # it has ended, or hangs and must not be used
        self._until_ended(note)
        return None

    def _until_ended(self, note: HostNote) -> None:
        deadline = time.monotonic() + END_SECONDS
        while note.process.alive and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        if note.process.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(note.process.pid, 9)
        remove_leftovers(note)

    def _start(self) -> HostAddress:
        plan = self.folder / "plan.json"
        options = asdict(shared_options(self.options, self.context))
        plan.write_text(json.dumps(options | {"model": str(self.options.model)}))
        command = [*COMMAND, "--plan", str(plan), "--folder", str(self.folder), "--python", str(self.python)]
        command += ["--model-sha256", self.model_sha256, "--idle-seconds", str(self.idle_seconds)]
        with (self.folder / "host.log").open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(),
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            if (note := read_note(self.folder)) is not None and note.process.pid == process.pid:
                return over_socket(note.socket)
            time.sleep(_POLL_SECONDS)
        process.kill()
        raise JobFailure(
            "The shared engine host does not start.",
            code="sampler_host_failed",
            hint=f"{self.folder / 'host.log'} says why. Without REINFORGE_VLLM_SHARED each job has its own vLLM.",
            retryable=True,
        )


def host_key(options: Options, model_sha256: str) -> str:
    """Name of the host of one model, dtype and set of devices."""
    devices = ",".join(options.devices) or settings.visible_devices() or ""
    parts = (socket.gethostname(), model_sha256, options.dtype, options.device, devices)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def shared_options(options: Options, context: int | None) -> Options:
    longest = options.max_model_len
    if options.device == "cpu":
        longest = max(longest, min(context or longest, CPU_ROW_TOKENS))
    rank = allowed_rank(max(LEAST_RANK, options.rank))
    return replace(
        options,
        max_model_len=longest,
        rank=rank,
        sleeps="no",
        loras=max(LORAS, options.loras),
        held=max(HELD, options.held),
    )


def read_note(folder: Path) -> HostNote | None:
    try:
        note = HostNote.model_validate_json((folder / NOTE).read_bytes())
    except (OSError, ValueError):
        return None
    if note.process.alive:
        return note
    remove_leftovers(note)
    return None


def write_note(folder: Path, note: HostNote) -> None:
    fresh = folder / f".{NOTE}"
    fresh.write_text(note.model_dump_json())
    fresh.replace(folder / NOTE)


def remove_leftovers(note: HostNote) -> None:
    if note.folder.name.startswith("rf-host-"):
        shutil.rmtree(note.folder, ignore_errors=True)


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold a lock file; yields False if `wait` is False and another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def environment() -> dict[str, str]:
    """This process's environment without what belongs to its job: a worker ends all processes of a run."""
    own = ("REINFORGE_RUN", settings.RECORD_DESCRIPTOR, settings.REWARD_SECRETS)
    secret = ("TOKEN", "SECRET", "PASSWORD", "API_KEY")
    return {
        key: value
        for key, value in os.environ.items()
        if key not in own and not any(part in key for part in secret)
    }


def plan_options(text: str) -> Options:
    plan: dict[str, Any] = json.loads(text)
    return Options(**{**plan, "model": Path(plan["model"]), "devices": tuple(plan["devices"])})

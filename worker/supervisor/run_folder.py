import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reinforge.errors import JobFailure
from reinforge.grading.multi import checkpoints
from reinforge.grading.source import parse_grader
from reinforge.records import Blob, RewardCode, RunManifest
from reinforge.schemas.worker_api import Claimed, ClaimedReward
from reinforge.system.folder_cache import FolderCache
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import BackendAway, WorkerApiRefused
from worker.backend_api.progress_callback import ProgressCallback, ignore_progress
from worker.models.sources import ModelStore

_LOST = frozenset({"blob_damaged", "blob_not_found", "object_not_found"})
_PLACED = frozenset({"dataset", "held_out", "resume", "start"})
RETAINED_JOBS = 20


@dataclass(frozen=True)
class RunFolder:
    """Folder of one attempt, with `run.json`, dataset and rewards; the trainer adds `records.jsonl`,
    `metrics.jsonl`, `trainer.log`, `blobs/`.
    """

    path: Path
    descriptor: int

    def close(self) -> None:
        os.close(self.descriptor)

    @property
    def manifest(self) -> Path:
        return self.path / "run.json"

    @property
    def blobs(self) -> Path:
        return self.path / "blobs"

    @property
    def log(self) -> Path:
        return self.path / "trainer.log"

    @property
    def outbox(self) -> Path:
        return self.path / "outbox.jsonl"


def make_run_folder(runs: Path, claimed: Claimed) -> RunFolder:
    path = runs / claimed.job / str(claimed.attempt)
    if path.exists():
        shutil.rmtree(path)
    (path / "blobs").mkdir(mode=0o700, parents=True)
    (path / "rewards").mkdir(mode=0o700)
    FolderCache(runs, max_entries=RETAINED_JOBS, remove=_forget).evict(keep={claimed.job})
    descriptor = _open_lock(path.parent)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return RunFolder(path, descriptor)


def _open_lock(job: Path) -> int:
    return os.open(job / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def prepare(
    folder: RunFolder,
    claimed: Claimed,
    blobs: BlobCache,
    models: ModelStore,
    sandbox: str | Path | None,
    on_progress: ProgressCallback = ignore_progress,
) -> RunManifest:
    """Fetch the job's inputs and write `run.json`. Raises JobFailure, InvalidInput, BackendAway, OSError."""
    if sandbox is None:
        raise _no_sandbox()
    model = models.resolve(claimed.model_source, token=claimed.hub_token, added=True, on_progress=on_progress)
    pinned = claimed.model_sha256
    if pinned is not None and (model_hash := models.content_hash(model, on_progress)) != pinned:
        raise JobFailure(
            f"The files of {claimed.model_source} have changed since the job was created "
            f"({model_hash[:12]}… instead of {pinned[:12]}…).",
            code="model_changed",
            hint="Restore the original files, or add the changed ones as a new model and start a new job.",
        )
    dataset = folder.path / f"dataset.{claimed.dataset_format}"
    blobs.place(claimed.dataset.sha256, dataset, claimed.job_token, on_progress)
    held_out = None
    if claimed.held_out is not None:
        held_out = folder.path / f"held_out.{claimed.held_out_format or claimed.dataset_format}"
        blobs.place(claimed.held_out.sha256, held_out, claimed.job_token, on_progress)
    resume = None
    if claimed.resume is not None:
        resume = folder.path / "resume"
        _place_resume_state(blobs, claimed.resume, resume, claimed.job_token, on_progress)
    manifest = RunManifest(
        job=claimed.job,
        attempt=claimed.attempt,
        spec=claimed.spec,
        model_path=str(model),
        dataset_path=str(dataset),
        held_out_path=str(held_out) if held_out else None,
        dataset_numbers=claimed.dataset_numbers,
        held_out_numbers=claimed.held_out_numbers,
        rewards=[_write_reward(folder, reward) for reward in claimed.rewards],
        judges=claimed.judges,
        # Beside the attempts, so that they share paid results.
        judge_cache=str(folder.path.parent / "judges.sqlite") if claimed.judges else None,
        tool_record=str(folder.path.parent / "tools.sqlite"),
        checkpoints=_checkpoints(claimed, models, on_progress),
        sandbox_socket=str(sandbox),
        resume_path=str(resume) if resume else None,
        start_path=_place_start(folder, claimed, blobs, on_progress),
        fork=claimed.fork,
        changes=claimed.changes,
    )
    folder.manifest.write_text(manifest.model_dump_json(indent=2))
    return manifest


def _no_sandbox() -> JobFailure:
    return JobFailure(
        "This worker has no sandbox, so reward code cannot run.",
        code="sandbox_unavailable",
        hint="Start `python -m worker.sandbox` beside the worker and set SANDBOX_SOCKET, or set SANDBOX_URL.",
        retryable=True,
    )


def _place_start(
    folder: RunFolder, claimed: Claimed, blobs: BlobCache, on_progress: ProgressCallback
) -> str | None:
    if claimed.start is None:
        return None
    path = folder.path / "start"
    blobs.place(claimed.start.sha256, path, claimed.job_token, on_progress)
    return str(path)


def _place_resume_state(
    blobs: BlobCache, state: Blob, path: Path, token: str, on_progress: ProgressCallback
) -> None:
    try:
        blobs.place(state.sha256, path, token, on_progress)
    except (BackendAway, WorkerApiRefused) as error:
        if error.code not in _LOST:
            raise
        raise JobFailure(
            f"The resume state cannot be read: {error.message}",
            code="resume_state_invalid",
            hint="Restore it from a backup of the object store, or start the job again from its last checkpoint.",
        ) from error


def _write_reward(folder: RunFolder, reward: ClaimedReward) -> RewardCode:
    suffix = "json" if reward.kind == "grader" else "py"
    path = folder.path / "rewards" / f"{reward.name}.{suffix}"
    path.write_text(reward.source, encoding="utf-8")
    return RewardCode(name=reward.name, path=str(path), revision=reward.revision, kind=reward.kind)


def _checkpoints(claimed: Claimed, models: ModelStore, on_progress: ProgressCallback) -> dict[str, str]:
    graders = [parse_grader(reward.source) for reward in claimed.rewards if reward.kind == "grader"]
    names = {name for grader in graders for name in checkpoints(grader) if name}
    return {name: str(models.resolve(name, on_progress=on_progress)) for name in sorted(names)}


def job_folders(runs: Path) -> list[str]:
    return [entry.name for entry in os.scandir(runs) if entry.is_dir() and entry.name.startswith("ftjob-")]


def forget_jobs(runs: Path, jobs: Iterable[str]) -> None:
    for job in jobs:
        _forget(runs / job)


def forget_data(runs: Path) -> None:
    for job in job_folders(runs):
        with _alone(runs / job) as alone:
            for path in (runs / job).glob("*/*") if alone else ():
                if path.name.split(".")[0] in _PLACED and path.is_file():
                    path.unlink(missing_ok=True)


def _forget(job: Path) -> None:
    with _alone(job) as alone:
        if alone:
            shutil.rmtree(job, ignore_errors=True)


@contextmanager
def _alone(job: Path) -> Iterator[bool]:
    try:
        descriptor = _open_lock(job)
    except FileNotFoundError:  # another worker has removed it
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except BlockingIOError:
        alone = False
    try:
        yield alone
    finally:
        os.close(descriptor)

"""Constants and functions that the sync and async clients share."""

from collections.abc import Callable
from typing import IO, Any, TypeVar

import httpx
from pydantic import BaseModel

from reinforge.dataset.limits import inspection_seconds
from reinforge.errors import InvalidInput, ReinforgeError, Unavailable
from reinforge.reward_library.jobs import expanded
from reinforge.schemas.jobs import JobError
from reinforge.schemas.resources import Dataset
from reinforge.schemas.uploads import DatasetUpload
from reinforge.spec import JobSpec
from reinforge.states import FINAL, JobStatus

M = TypeVar("M", bound=BaseModel)

CHUNK = 1 << 20
Progress = Callable[[int, int | None], None]
"""Callback that receives the bytes transferred so far and the total, which may be None."""

RESTS = FINAL | {JobStatus.PAUSED}
"""Job states that do not change by themselves."""
SWEEP_ENDS = ("succeeded", "failed", "cancelled")
EVALUATION_ENDS = ("succeeded", "failed", "cancelled")
DEPLOYMENT_POLL_SECONDS = 0.5
SAMPLE_READ_SECONDS = 45.0
_TEMPORARY = ("call_timeout", "hub_unavailable", "interrupted", "no_worker", "worker_lost")
"""Codes of failures after which adding a model may be retried."""


class StreamRefused(Exception):
    """Error response to a request for a stream; the body of `answer` has been read."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__(f"{answer.status_code}")
        self.answer = answer


def document(spec: JobSpec | dict[str, Any]) -> dict[str, Any]:
    """The specification as sent, with rewards of the library expanded.

    Raises NotFound `template_not_found`, InvalidInput `unknown_parameter` or `invalid_job_file`.
    """
    if isinstance(spec, JobSpec):
        return spec.model_dump(mode="json", exclude_unset=True)
    rewards = spec.get("rewards")
    if not isinstance(rewards, list):
        return spec
    return spec | {
        "rewards": [
            expanded(reward) if isinstance(reward, dict) and "ready" in reward else reward
            for reward in rewards
        ]
    }


def refusal(failure: JobError) -> ReinforgeError:
    kind = Unavailable if failure.code in _TEMPORARY else InvalidInput
    return kind(failure.message, code=failure.code, hint=failure.hint)


def sample_error(error: dict[str, Any]) -> ReinforgeError:
    kind = InvalidInput if error.get("type") == InvalidInput.type else Unavailable
    return kind(
        str(error.get("message") or "Sampling failed."),
        code=error.get("code"),
        hint=error.get("hint"),
        param=error.get("param"),
        errors=error.get("errors"),
    )


def complete_seconds(size: int) -> float:
    """Seconds to wait for the inspection of an upload, which may be queued behind others."""
    return 3600.0 + 4 * inspection_seconds(size)


def uploaded_hashes(dataset: Dataset, skip_bad_rows: bool) -> set[str]:
    """SHA-256 of the dataset and, with `skip_bad_rows`, of the file with bad rows."""
    skipped = dataset.skipped if skip_bad_rows else None
    return {dataset.sha256, skipped.sha256} if skipped else {dataset.sha256}


def part_of(file: IO[bytes], upload: DatasetUpload, number: int) -> bytes:
    file.seek((number - 1) * upload.part_bytes)
    return file.read(upload.part_bytes)

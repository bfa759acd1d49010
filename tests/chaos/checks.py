"""What a job has left behind, and its differences from an undisturbed job."""

import hashlib
import io
import tarfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reinforge.storage import ObjectNotFound, content_key
from tests.chaos.running import STEPS, Bench

SUCCEEDED = "succeeded"
_RECORDED = ("metrics", "completions", "checkpoint")
"""Events of which each step has one of a kind."""


@dataclass(frozen=True)
class Remains:
    """Of one job that has ended."""

    status: str
    adapter_sha256: str | None
    """Of `adapter_model.safetensors`."""
    points: Mapping[tuple[str, str, int], float | None]
    """Kind, key, step → value."""
    completions: Mapping[tuple[str, int, int, int], tuple[Any, ...]]
    """Split, step, prompt, sample → what it was and what it got."""
    checkpoints: Mapping[int, str]
    """Step → sha256."""
    events: Counter[tuple[str, str, int]]
    strangers: int
    """Rows that were not written by the attempt that made the step for good."""
    unsent: int
    """Records of the last attempt that its worker has kept and the backend has not."""
    damaged: int
    """Objects that the job's rows name and whose content is another."""
    attempts: list[tuple[int, int, str | None]]
    """Number, step that it went on from, outcome."""


@dataclass
class Difference:
    """What is missing, doubled or left over beside an undisturbed job."""

    series_holes: int = 0
    series_doubles: int = 0
    dead_points: int = 0
    lost: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.series_holes or self.series_doubles or self.dead_points or self.lost)


def remains(bench: Bench, job: str) -> Remains:
    view = bench.request("GET", f"/jobs/{job}").json()
    return Remains(
        status=view["status"],
        adapter_sha256=_adapter(bench, view.get("adapter")),
        points=_points(bench, job),
        completions={
            tuple(row[:4]): tuple(row[4:])
            for row in bench.sql(
                "SELECT split, step, prompt_no, sample_no, row_index, prompt_hash, reward, advantage, length,"
                " finish_reason, error, text FROM completion WHERE job_id = %s",
                job,
            )
        },
        checkpoints=dict(bench.sql("SELECT step, sha256 FROM checkpoint WHERE job_id = %s", job)),
        events=_events(bench, job),
        strangers=_strangers(bench, job),
        unsent=_unsent(bench, job, view["attempt"]),
        damaged=_damaged(bench, job),
        attempts=bench.sql(
            "SELECT number, resume_step, outcome FROM attempt WHERE job_id = %s ORDER BY number", job
        ),
    )


def compare(expected: Remains, actual: Remains, volatile: set[str]) -> Difference:
    """`volatile`: keys of metrics that tell time, or otherwise differ between undisturbed jobs."""
    difference = Difference()
    note = difference.notes.append
    missing = expected.points.keys() - actual.points.keys()
    extra = actual.points.keys() - expected.points.keys()
    doubled = {event: count for event, count in actual.events.items() if count > 1}
    difference.series_holes = len(missing)
    difference.series_doubles = len(extra) + len(doubled)
    others = [
        point
        for point in expected.points.keys() & actual.points.keys()
        if point[1] not in volatile and expected.points[point] != actual.points[point]
    ]
    wrong = [
        row
        for row in expected.completions.keys() & actual.completions.keys()
        if expected.completions[row] != actual.completions[row]
    ]
    left_over = actual.completions.keys() - expected.completions.keys()
    difference.dead_points = actual.strangers + len(others) + len(wrong) + len(left_over)
    gone = expected.completions.keys() - actual.completions.keys()
    unmade = expected.checkpoints.items() - actual.checkpoints.items()
    silent = expected.events.keys() - actual.events.keys()
    difference.lost = (
        len(gone) + len(unmade) + len(silent) + actual.unsent + actual.damaged + (actual.status != SUCCEEDED)
    )
    for what, these in (
        ("points missing", missing), ("points extra", extra), ("events twice", doubled), ("points differ", others),
        ("completions differ", wrong), ("completions extra", left_over), ("completions missing", gone),
        ("checkpoints differ", unmade), ("events missing", silent),
    ):  # fmt: skip
        if these:
            note(f"{len(these)} {what}: {sorted(these, key=str)[:3]}")
    if actual.strangers:
        note(f"{actual.strangers} rows of dead attempts")
    if actual.damaged:
        note(f"{actual.damaged} objects are damaged")
    if actual.unsent:
        note(f"{actual.unsent} records not sent")
    return difference


def volatile_keys(one: Remains, other: Remains) -> set[str]:
    """Metrics whose values differ between two undisturbed jobs."""
    return {
        key
        for kind, key, step in one.points
        if one.points[kind, key, step] != other.points.get((kind, key, step))
    }


def _adapter(bench: Bench, adapter: str | None) -> str | None:
    if adapter is None:
        return None
    content = bench.request("GET", f"/adapters/{adapter}/download").content
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive.getmembers():
            if member.name.endswith("adapter_model.safetensors"):
                file = archive.extractfile(member)
                assert file is not None
                return hashlib.sha256(file.read()).hexdigest()
    return None


def _points(bench: Bench, job: str) -> dict[tuple[str, str, int], float | None]:
    rows = bench.sql(
        "SELECT kind, key, step, value FROM metric_point JOIN metric_series ON metric_series.id = series_id"
        " WHERE job_id = %s",
        job,
    )
    return {(kind, key, step): value for kind, key, step, value in rows}


def _events(bench: Bench, job: str) -> Counter[tuple[str, str, int]]:
    """Each step tells its metrics, completions and checkpoint once, as the live stream shows them."""
    counts: Counter[tuple[str, str, int]] = Counter()
    after = 0
    while True:
        page = bench.request("GET", f"/jobs/{job}/events", params={"after": after, "limit": 1000}).json()
        for event in page["data"]:
            after, data = event["seq"], event["data"]
            if event["type"] in _RECORDED:
                counts[event["type"], str(data.get("kind") or data.get("split") or ""), data["step"]] += 1
        if not page["has_more"]:
            return counts


def _strangers(bench: Bench, job: str) -> int:
    """The attempt that made a step for good is the last that went on from a step before it; all else is a leftover.

    Step 0 is before every attempt: whoever evaluated it first may have.
    """
    owner = "(SELECT max(number) FROM attempt WHERE job_id = %s AND resume_step < {step})"
    began = (
        "(SELECT extract(epoch FROM max(claimed_at)) FROM attempt WHERE job_id = %s AND resume_step < {step})"
    )
    count = 0
    for table in ("step_rollouts", "checkpoint", "resume_state"):
        attempt = owner.format(step=f"{table}.step")
        query = f"SELECT count(*) FROM {table} WHERE job_id = %s AND step > 0 AND attempt <> {attempt}"
        count += bench.sql(query, job, job)[0][0]
    old = (
        "SELECT count(*) FROM metric_point JOIN metric_series ON metric_series.id = series_id"
        f" WHERE job_id = %s AND step > 0 AND ts < {began.format(step='metric_point.step')}"
    )
    beyond = f"SELECT count(*) FROM completion WHERE job_id = %s AND step > {STEPS}"
    return int(count + bench.sql(old, job, job)[0][0] + bench.sql(beyond, job)[0][0])


def _unsent(bench: Bench, job: str, attempt: int) -> int:
    path = bench.home / "runs" / job / str(attempt) / "records.jsonl"
    rows = bench.sql("SELECT last_sequence FROM attempt WHERE job_id = %s AND number = %s", job, attempt)
    written = path.read_bytes().count(b"\n") if path.exists() else 0
    return max(0, written - (rows[0][0] if rows else 0))


def _damaged(bench: Bench, job: str) -> int:
    """A state that was torn may have been made again: then it has to be whole."""
    damaged = 0
    for table in ("resume_state", "checkpoint", "step_rollouts"):
        for (sha256,) in bench.sql(f"SELECT sha256 FROM {table} WHERE job_id = %s", job):
            try:
                content = bench.store.get(content_key("blobs", sha256))
            except ObjectNotFound:
                content = b""
            damaged += hashlib.sha256(content).hexdigest() != sha256
    return damaged

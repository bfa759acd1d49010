"""`reinforge reproduce`: repeats the job of a bundle and compares it record by record as it runs."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from reinforge.bundles.archive import unpack_bundle
from reinforge.bundles.manifest import BundleManifest
from reinforge.bundles.records import BundleRecords, read_completions, weights_of
from reinforge.comparison.divergence import machine_differences, metric_difference, row_difference
from reinforge.errors import InvalidInput
from reinforge.offline.bundle_job import Inputs, prepare
from reinforge.offline.train import die_with_parent, sandbox
from reinforge.schemas.divergence import MetricDifference, RowDifference
from reinforge.states import JobStatus

POLL_SECONDS = 0.2


class CheckpointDifference(BaseModel):
    """The adapter after a step differs, although all earlier records are the same."""

    step: int
    sha256: list[str]


class Reproduction(BaseModel):
    job: str
    outcome: Literal["same", "different", "not_run"]
    steps: int
    """Number of repeated steps."""
    compared: dict[str, int]
    """Numbers of equal completions, metric points and checkpoints, by kind."""
    difference: RowDifference | MetricDifference | CheckpointDifference | None = None
    adapter: bool | None = None
    """Whether the final adapter is bitwise identical; None if it was not compared."""
    machine: dict[str, list[Any]] = {}
    """Versions and machine facts that differ: name → values in the job and here."""
    message: str | None = None
    """Why the trainer ended early."""
    out: str


class Comparison:
    """Compares the records of a run with the bundle's; `difference` is the first difference."""

    def __init__(self, manifest: BundleManifest, records: BundleRecords, run: Path) -> None:
        self._manifest, self._records, self._run = manifest, records, run
        self.compared = {"completions": 0, "metrics": 0, "checkpoints": 0}
        self.difference: RowDifference | MetricDifference | CheckpointDifference | None = None
        self.adapter: bool | None = None
        self.machine: dict[str, list[Any]] = {}
        self.step = 0
        self.message: str | None = None

    def add(self, record: dict[str, Any]) -> None:
        kind = record["kind"]
        if kind == "started":
            self.machine = machine_differences(self._manifest.facts, record["facts"])
        elif kind == "rollouts":
            self._completions(record)
        elif kind in ("step_metrics", "evaluated"):
            self._metrics(record)
        elif kind == "checkpoint_saved":
            self._checkpoint(record)
        elif kind == "ended" and record["outcome"] != "succeeded":
            self.message = record["message"] or record["reason"] or record["outcome"]

    def _completions(self, record: dict[str, Any]) -> None:
        split, step = record["split"], record["step"]
        expected = self._records.completions(split, step)
        if expected is None:
            return
        rows = read_completions(self._run / "blobs" / record["blob"]["sha256"])
        self.difference = row_difference(step, split, expected, rows)
        self.compared["completions"] += len(rows) if self.difference is None else 0

    def _metrics(self, record: dict[str, Any]) -> None:
        step, kind = record["step"], record["kind"]
        split: Literal["train", "held_out"] = "train" if kind == "step_metrics" else "held_out"
        expected = self._records.metrics(split, step)
        if expected is not None:
            self.difference = metric_difference(step, split, expected, record["values"])
            self.compared["metrics"] += len(expected) if self.difference is None else 0
        if split == "train":
            self.step = step

    def _checkpoint(self, record: dict[str, Any]) -> None:
        expected = self._records.checkpoints.get(record["step"])
        if expected is None:
            return
        sha256 = record["blob"]["sha256"]
        same = sha256 == expected.sha256
        if not same and (weights := self._records.weights(expected)) is not None:
            same = weights == weights_of(self._run / "blobs" / sha256)
        if same:
            self.compared["checkpoints"] += 1
        else:
            self.difference = CheckpointDifference(step=record["step"], sha256=[expected.sha256, sha256])
        if expected.final:
            self.adapter = same


def reproduce(bundle: Path, out: Path, inputs: Inputs, *, steps: int | None = None) -> Reproduction:
    """Repeat a bundle's job in the new folder `out`, for `steps` steps or up to the first difference.

    Raises InvalidInput for a bad bundle or folder, Unavailable if the sandbox does not start.
    """
    if out.exists() and any(out.iterdir()):
        raise InvalidInput(
            f"{out} is not empty.", code="out_exists", hint="Choose another folder with --out."
        )
    contents = out / "bundle"
    contents.mkdir(parents=True)
    manifest = unpack_bundle(bundle, contents)
    records = BundleRecords(manifest, contents)
    last = min(steps or manifest.step, manifest.step)
    with tempfile.TemporaryDirectory(prefix="rf-") as short:
        socket_path = Path(short) / "sandbox.sock"
        prepare(manifest, contents, out, inputs, socket_path)
        comparison = Comparison(manifest, records, out)
        with sandbox(socket_path, out):
            whole = last == manifest.step and manifest.status == JobStatus.SUCCEEDED
            _run(out, comparison, None if whole else last)
    return _result(manifest, comparison, out, last)


def _run(out: Path, comparison: Comparison, last: int | None) -> None:
    command = [sys.executable, "-m", "worker.trainer.main", "--run", str(out), "--offline"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent())
    try:
        for record in _records(process, out / "records.jsonl"):
            beyond = last is not None and record["kind"] == "phase" and record["step"] > last
            if not beyond:
                comparison.add(record)
            if beyond or comparison.difference is not None:
                return
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _records(process: subprocess.Popen[bytes], path: Path) -> Iterator[dict[str, Any]]:
    while not path.exists():
        if process.poll() is not None:
            return
        time.sleep(POLL_SECONDS)
    with path.open("rb") as file:
        line = b""
        while True:
            ended = process.poll() is not None  # before the rest is read: no line is lost
            while part := file.readline():
                line += part
                if line.endswith(b"\n"):
                    yield json.loads(line)
                    line = b""
            if ended:
                return
            time.sleep(POLL_SECONDS)


def _result(manifest: BundleManifest, comparison: Comparison, out: Path, last: int) -> Reproduction:
    complete = comparison.step >= last and (last < manifest.step or comparison.message is None)
    same: Literal["same", "not_run"] = "same" if complete else "not_run"
    message = comparison.message
    if same == "not_run" and message is None and comparison.difference is None:
        message = f"The trainer ended early, after step {comparison.step}; see its output above."
    return Reproduction(
        job=manifest.job,
        outcome="different" if comparison.difference is not None else same,
        steps=comparison.step,
        compared=comparison.compared,
        difference=comparison.difference,
        adapter=comparison.adapter,
        machine=comparison.machine,
        message=message,
        out=str(out),
    )

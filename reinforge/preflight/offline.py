"""`reinforge preflight` without a server, in a trainer process and a temporary folder."""

import io
import json
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from reinforge.errors import JobFailure
from reinforge.offline.train import last_record, prepare, sandbox
from reinforge.preflight.assess import assess
from reinforge.preflight.observed import observe
from reinforge.preflight.probe import probe
from reinforge.preflight.report import PreflightReport
from reinforge.records import RECORD, Record, Rollouts, StepMetrics
from reinforge.spec import JobSpec


def preflight(spec: JobSpec) -> PreflightReport:
    """Run and assess the probe job on this machine. Raises JobFailure and errors of `reinforge train`."""
    with tempfile.TemporaryDirectory(prefix="rf-preflight-") as folder:
        out, socket_path = Path(folder) / "run", Path(folder) / "s.sock"
        prepare(probe(spec), out, socket_path)
        with sandbox(socket_path, out):
            launched = time.time()
            subprocess.run(
                [sys.executable, "-m", "worker.trainer.main", "--run", str(out), "--offline"],
                stdin=subprocess.DEVNULL,
                check=False,
            )
        records = read_records(out / "records.jsonl")
        _refuse_failed(out, records)
        observed = observe(records, launched=launched)
        observed.reward_ms = _reward_ms(out, records)
        return assess(spec, observed)


def read_records(path: Path) -> list[Record]:
    if not path.exists():
        return []
    return [RECORD.validate_json(line) for line in path.read_bytes().splitlines() if line.endswith(b"}")]


def _refuse_failed(out: Path, records: list[Record]) -> None:
    ended = last_record(out / "records.jsonl") or {}
    if ended.get("kind") != "ended":
        raise JobFailure(
            "The trainer ended without reporting why; see its output above.",
            code="trainer_crashed",
            retryable=True,
        )
    outcome, reason = ended.get("outcome"), ended.get("reason")
    stepped = any(isinstance(record, StepMetrics) for record in records)
    if outcome == "succeeded" or (outcome == "paused" and reason == "reward_errors" and stepped):
        return
    if outcome == "paused" and reason == "pause_requested":
        raise KeyboardInterrupt
    raise JobFailure(
        str(ended.get("message") or f"The pre-flight ended as {outcome} ({reason})."),
        code=str(reason or "preflight_failed"),
        hint=ended.get("hint"),
    )


def _reward_ms(out: Path, records: list[Record]) -> list[float]:
    if find_spec("pyarrow") is None:
        return []
    import pyarrow.parquet as parquet

    milliseconds = []
    for record in records:
        if isinstance(record, Rollouts):
            content = io.BytesIO((out / "blobs" / record.blob.sha256).read_bytes())
            column = parquet.read_table(content, columns=["rewards"])["rewards"].to_pylist()
            milliseconds += [sum(result["wall_ms"] for result in json.loads(results)) for results in column]
    return milliseconds

"""`reinforge train`: runs a job with its own sandbox daemon, trainer process and output folder."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from reinforge import settings
from reinforge.base_models.config import read_hidden_size
from reinforge.base_models.learning_rate import AUTO, unknown_hidden_size
from reinforge.dataset import numbers_of
from reinforge.errors import InvalidInput
from reinforge.offline.rewards import check_server_secrets, checkpoints, secret_variables, write_rewards
from reinforge.offline.start_adapter import start_archive, with_start_folder
from reinforge.platform.supervisor import Service
from reinforge.platform.up import accepts
from reinforge.records import RunManifest
from reinforge.spec import JobSpec
from reinforge.system.launch import end_with_parent


def train(spec: JobSpec, out: Path) -> dict[str, Any]:
    """Run a job to its end in the new folder `out`; returns its record of kind `ended`.

    Under torchrun each process is a rank, and all but rank 0 write to `OUT-rank-N`.
    """
    torchrun = settings.torchrun_rank()
    if torchrun is not None:
        check_size(spec, torchrun.size)
        if torchrun.rank > 0:
            return serve_rank(spec, out.with_name(f"{out.name}-rank-{torchrun.rank}"))
    if out.exists() and any(out.iterdir()):
        raise InvalidInput(
            f"{out} is not empty.", code="out_exists", hint="Choose another folder with --out."
        )
    with tempfile.TemporaryDirectory(prefix="rf-") as short:
        socket_path = Path(short) / "sandbox.sock"
        prepare(spec, out, socket_path)
        with sandbox(socket_path, out, without=secret_variables(spec)):
            command = [sys.executable, "-m", "worker.trainer.main", "--run", str(out), "--offline"]
            status = _run(command)
    ended = last_record(out / "records.jsonl")
    if ended is None or ended.get("kind") != "ended":
        return {"kind": "ended", "outcome": "failed", "reason": "trainer_crashed", "step": 0,
                "message": f"The trainer ended with status {status} and no result; see its output above."}  # fmt: skip
    return ended


def check_size(spec: JobSpec, size: int) -> None:
    if spec.devices_per_job != size:
        raise InvalidInput(
            f"devices_per_job is {spec.devices_per_job}, but torchrun started {size} processes.",
            code="too_few_devices" if size < spec.devices_per_job else "too_many_ranks",
            param="devices_per_job",
            hint="Set devices_per_job to torchrun's --nnodes times --nproc-per-node.",
        )


def serve_rank(spec: JobSpec, out: Path) -> dict[str, Any]:
    """Run a rank other than 0 until the job ends, with the model and files of this host."""
    prepare(spec, out, out / "no-sandbox.sock")
    status = _run([sys.executable, "-m", "worker.trainer.rank", "--run", str(out)])
    shutil.rmtree(out, ignore_errors=True)
    if status == 0:
        return {"kind": "ended", "outcome": "succeeded", "reason": None, "step": 0,
                "message": "this process was a rank of the job; rank 0 has the job's output"}  # fmt: skip
    return {"kind": "ended", "outcome": "failed", "reason": "rank_lost", "step": 0,
            "message": f"This rank stopped with status {status}; see its output above."}  # fmt: skip


def prepare(spec: JobSpec, out: Path, socket_path: Path) -> RunManifest:
    model = model_folder(spec.model)
    dataset = _file(spec.data.dataset, "data.dataset")
    held_out = _file(spec.data.held_out, "data.held_out") if spec.data.held_out else None
    spec = with_start_folder(spec)
    check_server_secrets(spec)
    resolved = _resolved(spec, model)
    rewards = out / "rewards"
    rewards.mkdir(parents=True)
    start = start_archive(spec, out)
    code = write_rewards(spec, rewards)
    manifest = RunManifest(
        job=f"offline-{out.name}",
        attempt=1,
        spec=resolved.model_dump(mode="json"),
        model_path=str(model),
        dataset_path=str(dataset),
        held_out_path=str(held_out) if held_out else None,
        dataset_numbers=numbers_of(dataset),
        held_out_numbers=numbers_of(held_out) if held_out else [],
        rewards=code,
        sandbox_socket=settings.sandbox_url() or str(socket_path),
        judges=spec.judges,
        judge_cache=str((out / "judges.sqlite").resolve()) if spec.judges else None,
        checkpoints=checkpoints(code, model),
        start_path=str(start.resolve()) if start else None,
    )
    (out / "run.json").write_text(manifest.model_dump_json(indent=2), encoding="utf-8")
    return manifest


def _resolved(spec: JobSpec, model: Path) -> JobSpec:
    engine = auto_engine() if spec.rollout.engine == "auto" else spec.rollout.engine
    resolved = spec.resolved(engine=engine, hidden_size=read_hidden_size(model))
    if resolved.optimizer.learning_rate == AUTO and (model / "config.json").is_file():
        raise unknown_hidden_size(str(model))
    return resolved


def auto_engine() -> str:
    program = "from worker.serving_client.engine_choice import job_engines; print(job_engines()[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "transformers"


def model_folder(model: str) -> Path:
    folder = Path(model)
    if folder.is_dir():
        return folder.resolve()
    worker = importlib.util.find_spec("worker")
    for place in (worker.submodule_search_locations or []) if worker else []:
        builtin = Path(place) / "starter" / model
        if builtin.is_dir():
            return builtin
    raise InvalidInput(
        f"There is no model {model!r}: neither a folder nor built in.",
        code="unknown_model",
        param="model",
        hint="Give a folder with config.json and .safetensors files, or starter-arith or starter-tools.",
    )


@contextmanager
def sandbox(socket_path: Path, out: Path, *, without: frozenset[str] = frozenset()) -> Iterator[None]:
    """Run a sandbox daemon until the `with` block or this process ends."""
    if settings.sandbox_url():  # one on another machine
        yield
        return
    command = [sys.executable, "-P", "-m", "worker.sandbox", "--socket", str(socket_path)]
    environment = {name: value for name, value in os.environ.items() if name not in without}
    service = Service("sandbox", command, out, environment, ready=lambda: accepts(socket_path))
    service.start()
    try:
        yield
    finally:
        service.ask_stop()
        service.stop()


def _run(command: list[str]) -> int:
    """Return the trainer's exit status. SIGTERM and this process's end stop the trainer."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent())
    previous = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait(30)
        raise
    finally:
        signal.signal(signal.SIGTERM, previous)
        if process.poll() is None:
            process.kill()
            process.wait()


def die_with_parent() -> Callable[[], None] | None:
    """A `preexec_fn` that has the child killed when this process ends; None except on Linux."""
    us = os.getpid()
    return partial(end_with_parent, us, signal.SIGKILL) if sys.platform == "linux" else None


def _file(path: str, param: str) -> Path:
    if not Path(path).is_file():
        raise InvalidInput(f"There is no file {path}.", code="file_not_found", param=param)
    return Path(path).resolve()


def last_record(path: Path) -> dict[str, Any] | None:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return None
    for line in reversed(lines):
        try:
            record = json.loads(line)
        except ValueError:  # cut off by a kill
            continue
        return dict(record)
    return None

"""Where deployments, the playground and reward tests load models beside jobs: a decision about sizes, and its lock."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from reinforge.errors import Unavailable
from tests.support.supervised import wait_for
from worker.machine.gpu_assignment import GpuLocks, Pools
from worker.machine.gpus import Gpu
from worker.machine.torch_device import compute_device
from worker.rewards.checkpoints import ModelProcess
from worker.serving_client import process
from worker.serving_client.placement import OVERHEAD, Places, ServingPlace, choose
from worker.serving_client.process import ServingProcess
from worker.serving_client.protocol import SamplePrompt, ServingRequest

GIB = 2**30
ONE = Gpu("0", "GPU-a", "H100", 80 * GIB, 20 * GIB)
OTHER = Gpu("1", "GPU-b", "H100", 80 * GIB, 6 * GIB)
CPU = ServingPlace("transformers", hidden=True)
SAYS_ITS_PLACE = """
import json, os, sys
out = os.fdopen(3, "wb", buffering=0)
engine = sys.argv[sys.argv.index("--engine") + 1]
told = {name: os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "REINFORGE_GPU_SHARE")} | {"engine": engine}
for line in sys.stdin:
    message = json.loads(line)
    if "request" in message:
        out.write(json.dumps({"id": message["request"]["id"], "ended": True, "events": [told]}).encode() + b"\\n")
"""


@pytest.mark.parametrize(
    ("free", "weights", "ram", "engine", "place"),
    [
        (OTHER, 60, 1, "auto", ServingPlace("vllm", OTHER)),  # whatever the size: nobody loses by it
        (OTHER, 1, 99, "transformers", ServingPlace("transformers", OTHER)),
        (None, 1, 99, "auto", ServingPlace("transformers", ONE, 0.1)),
        (None, 5, 99, "auto", ServingPlace("transformers", ONE, 0.1)),
        (None, 6, 99, "auto", CPU),  # 7.2 GiB and the overhead are more than a tenth of the GPU
        (None, 20, 81.5, "auto", CPU),
    ],
)
def test_a_job_keeps_its_memory(
    free: Gpu | None, weights: float, ram: float, engine: Any, place: ServingPlace
) -> None:
    chosen = choose(
        free, [ONE, OTHER], int(weights * GIB), int(ram * GIB) + 2 * OVERHEAD, requested=engine, best="vllm"
    )
    assert chosen == place


def test_no_more_than_half_of_what_a_job_leaves_free_is_taken() -> None:
    assert choose(None, [OTHER], GIB, None, requested="auto", best="vllm") == ServingPlace(
        "transformers", OTHER, 0.1
    )
    assert choose(None, [OTHER], 2 * GIB, None, requested="auto", best="vllm") == CPU
    unknown = Gpu("0", "nvidia0")
    assert choose(None, [unknown], 1, None, requested="auto", best="vllm") == CPU, (
        "of a GPU whose size nobody tells"
    )


@pytest.mark.parametrize(("engine", "weights", "why"), [("vllm", 1, "of its own"), ("auto", 40, "too large")])
def test_what_finds_no_place_is_refused(engine: Any, weights: int, why: str) -> None:
    with pytest.raises(Unavailable, match=why) as refused:
        choose(None, [ONE], weights * GIB, 64 * GIB, requested=engine, best="vllm")
    assert refused.value.code == "gpu_busy" and refused.value.hint


def test_torch_is_held_to_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", shares.append)
    monkeypatch.delenv("REINFORGE_DEVICE", raising=False)
    compute_device()
    for name, value in ServingPlace("transformers", ONE, 0.1).environment().items():
        monkeypatch.setenv(name, value)
    compute_device()
    assert shares == [0.1]


class Machine:
    """Two GPUs with locks in a folder; a job takes and leaves them."""

    def __init__(self, folder: Path) -> None:
        self.locks, self.pools = GpuLocks(folder / "gpus"), Pools((ONE, OTHER))
        self.model = folder / "model"
        self.model.mkdir()
        (self.model / "model.safetensors").write_bytes(b"12345")

    def places(self, engine: Any = "auto") -> Places:
        return Places(self.locks, 1, "deployments", engine, lambda: [ONE, OTHER], lambda: None)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_last_free_gpu_is_taken_and_then_a_share(machine: Machine) -> None:
    folder = str(machine.model)
    launch = machine.places().find(folder)
    assert (
        launch.place == ServingPlace("transformers", OTHER)
        and launch.environment()["CUDA_VISIBLE_DEVICES"] == "1"
    )
    job = machine.locks.take(machine.pools, "job")
    assert job is not None and job.placement.trainers == (ONE,)
    beside = machine.places().find(folder)
    assert beside.place == ServingPlace("transformers", ONE, 0.1) and not beside.hold.locks
    with pytest.raises(Unavailable):
        machine.places("vllm").find(folder)
    launch.hold.release()
    assert machine.places("vllm").find(folder).place == ServingPlace("vllm", OTHER)


def test_without_a_gpu_nothing_is_hidden_or_locked(machine: Machine) -> None:
    launch = Places(machine.locks, 1, "x", "auto", list).find("/nowhere")
    assert (launch.place, launch.environment(), launch.hold.locks) == (ServingPlace("transformers"), {}, {})


@pytest.fixture
def serving(machine: Machine) -> Iterator[ServingProcess]:
    serving = ServingProcess(command=(sys.executable, "-c", SAYS_ITS_PLACE), places=machine.places().find)
    yield serving
    serving.close()


def placed(serving: ServingProcess, folder: Path) -> dict[str, Any]:
    request = ServingRequest(
        id="o", model="m", folder=str(folder), prompts=[SamplePrompt(ids=[1], max_tokens=1)]
    )
    with serving.sample(request, lambda: None) as replies:
        events: list[dict[str, Any]] = replies.get(timeout=20).events
    return events[0]


def test_an_idle_server_gives_its_gpu_to_a_job_and_moves_beside_it(
    machine: Machine, serving: ServingProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert placed(serving, machine.model)["CUDA_VISIBLE_DEVICES"] == "1"
    first = machine.locks.take(machine.pools, "first job")
    assert machine.locks.take(machine.pools, "a look") is None
    serving.yield_gpu()
    assert serving.pid is not None, "nothing is known to be queued"
    assert machine.locks.take(machine.pools, "second job", urgent=True) is None
    serving.yield_gpu()
    assert serving.pid is None
    second = machine.locks.take(machine.pools, "second job", urgent=True)
    assert first is not None and second is not None and second.placement.trainers == (OTHER,)

    assert placed(serving, machine.model)["REINFORGE_GPU_SHARE"] == "0.1"
    pid = serving.pid
    second.release()
    placed(serving, machine.model)
    assert serving.pid == pid, "not looked at again at once"
    monkeypatch.setattr(process, "PLACED_AGAIN_SECONDS", 0.0)
    again = placed(serving, machine.model)
    assert (again["CUDA_VISIBLE_DEVICES"], again["REINFORGE_GPU_SHARE"]) == ("1", None)


def test_a_server_that_dies_gives_its_gpu_back(machine: Machine, serving: ServingProcess) -> None:
    placed(serving, machine.model)
    assert serving.pid is not None
    os.kill(serving.pid, signal.SIGKILL)
    wait_for(lambda: serving.pid is None)
    both = machine.locks.take(machine.pools, "one"), machine.locks.take(machine.pools, "two")
    assert None not in both


def test_reward_models_keep_off_a_jobs_gpu_too(machine: Machine) -> None:
    tell = "import os; input()\n"
    tell += "print('{\"answers\": [' + os.environ['CUDA_VISIBLE_DEVICES'] + ']}', flush=True); input()"
    models = ModelProcess((sys.executable, "-c", tell), places=machine.places("transformers").find)
    job = machine.locks.take(machine.pools, "job")
    try:
        assert models.ask({"path": str(machine.model)}) == [1]
        assert machine.locks.take(machine.pools, "next", urgent=True) is None
        models.yield_gpu()
        assert models.pid is None and machine.locks.take(machine.pools, "next") is not None
    finally:
        models.close()
    assert job is not None

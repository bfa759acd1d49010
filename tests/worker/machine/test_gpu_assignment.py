"""The GPUs of a job: the machine's list, the settings, and the locks between processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reinforge.errors import InvalidInput, JobFailure
from worker.machine import gpus as machine
from worker.machine.gpu_assignment import (
    GpuLocks,
    Hold,
    JobGpus,
    Placement,
    Pools,
    place,
    placement_report,
    pools,
)
from worker.machine.gpus import Gpu, list_gpus, parse_nvidia_smi, visible
from worker.settings import WorkerSettings, read_settings

SMI = """0, GPU-aaaa-1, NVIDIA H100 80GB HBM3, 81559, 81000
1, GPU-bbbb-2, NVIDIA H100 80GB HBM3, 81559, 20000
2, GPU-cccc-3, NVIDIA H100 80GB HBM3, [N/A], [N/A]
"""
THREE = parse_nvidia_smi(SMI)
VARIABLES = (
    "TRAINER_DEVICES",
    "SAMPLER_DEVICES",
    "VLLM_DEVICES",
    "VLLM_SERVERS",
    "GPUS_PER_JOB",
    "JOBS_PER_GPU",
    "GPU_LOCKS",
    "DEVICE",
    "SERVING_ENGINE",
    "VLLM_GPU_MEMORY",
    "VLLM_SLEEP",
)


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(f"REINFORGE_{name}", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def of(gpus: list[Gpu], **settings: Any) -> Pools:
    return pools(gpus, WorkerSettings(**settings))


def devices(gpus: tuple[Gpu, ...]) -> str:
    return ",".join(gpu.device for gpu in gpus)


def test_nvidia_smi_is_read() -> None:
    assert [(gpu.device, gpu.uuid) for gpu in THREE] == [
        ("0", "GPU-aaaa-1"),
        ("1", "GPU-bbbb-2"),
        ("2", "GPU-cccc-3"),
    ]
    assert (THREE[1].free, THREE[0].total, THREE[2].total) == (20000 << 20, 81559 << 20, 0)
    assert parse_nvidia_smi("NVIDIA-SMI has failed\n") == []


@pytest.mark.parametrize(
    ("value", "visible_devices"),
    [
        (None, "0,1,2"),
        ("2, 0", "2,0"),
        ("GPU-bbbb", "1"),
        ("1,7,0", "1"),
        ("1,1", "1"),
        ("MIG-12-ab", "MIG-12-ab"),
    ],
)
def test_cuda_visible_devices_limits_the_gpus(value: str | None, visible_devices: str) -> None:
    assert devices(tuple(visible(THREE, value))) == visible_devices


def test_without_nvidia_smi_the_kernel_is_queried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(machine, "DRIVER", tmp_path / "driver")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list_gpus() == []
    (tmp_path / "dev").mkdir()
    for name in ("nvidiactl", "nvidia3"):  # a container with the host's fourth
        (tmp_path / "dev" / name).touch()
    assert list_gpus() == [Gpu("0", "nvidia3")]
    for minor in (0, 3):
        folder = tmp_path / "driver" / "gpus" / f"0000:{minor}"
        folder.mkdir(parents=True)
        (folder / "information").write_text(
            f"Model: \t H100\nGPU UUID: \t GPU-{minor}\nDevice Minor: \t {minor}\n"
        )
    assert list_gpus() == [Gpu("0", "GPU-3", "H100")]
    monkeypatch.setenv("REINFORGE_DEVICE", "cpu")
    assert list_gpus() == []


@pytest.mark.parametrize(
    ("count", "settings", "trainers", "samplers", "jobs"),
    [
        (0, {}, "", "", 1),
        (3, {}, "0,1,2", "", 3),
        (1, {"jobs_per_gpu": 2}, "0", "", 2),
        (3, {"trainer_devices": "1,GPU-cccc-3"}, "1,2", "", 2),
        (3, {"sampler_devices": "2"}, "0,1", "2", 1),
        (3, {"trainer_devices": "0", "sampler_devices": "1,2"}, "0", "1,2", 1),
        (3, {"gpus_per_job": 2}, "0,1,2", "0,1,2", 1),
        (3, {"sampler_devices": "1;2"}, "0", "1,2", 1),
        (3, {"sampler_devices": "1,2;"}, "0", "1,2", 1),
        (3, {"sampler_devices": "1; GPU-cccc-3", "jobs_per_gpu": 2}, "0", "1,2", 2),
        (3, {"sampler_devices": "2;", "gpus_per_job": 2}, "0,1", "2", 1),
        (3, {"gpus_per_job": 2, "trainer_devices": "2"}, "2", "0,1", 1),
    ],
)
def test_what_the_settings_make_of_the_gpus(
    count: int, settings: dict[str, Any], trainers: str, samplers: str, jobs: int
) -> None:
    made = of(THREE[:count], **settings)
    assert (devices(made.trainers), devices(made.samplers), made.jobs) == (trainers, samplers, jobs)


@pytest.mark.parametrize(
    ("count", "settings", "param"),
    [
        (3, {"trainer_devices": "5"}, "REINFORGE_TRAINER_DEVICES"),
        (0, {"trainer_devices": "0"}, "REINFORGE_TRAINER_DEVICES"),
        (3, {"sampler_devices": "GPU-no"}, "REINFORGE_SAMPLER_DEVICES"),
        (3, {"trainer_devices": "0", "sampler_devices": "0"}, "REINFORGE_SAMPLER_DEVICES"),
        (1, {"sampler_devices": "0"}, "REINFORGE_SAMPLER_DEVICES"),
        (1, {"gpus_per_job": 2}, "REINFORGE_GPUS_PER_JOB"),
        (0, {"gpus_per_job": 2}, "REINFORGE_GPUS_PER_JOB"),
        (2, {"gpus_per_job": 2, "trainer_devices": "0,1"}, "REINFORGE_GPUS_PER_JOB"),
        (3, {"gpus_per_job": 1, "sampler_devices": "1"}, "REINFORGE_GPUS_PER_JOB"),
        (3, {"gpus_per_job": 2, "sampler_devices": "1;2"}, "REINFORGE_GPUS_PER_JOB"),
        (3, {"sampler_devices": "1,0;2"}, "REINFORGE_SAMPLER_DEVICES"),
        (3, {"sampler_devices": "1;GPU-bbbb-2"}, "REINFORGE_SAMPLER_DEVICES"),
        (3, {"sampler_devices": "1;;2"}, "REINFORGE_SAMPLER_DEVICES"),
        (3, {"sampler_devices": ";"}, "REINFORGE_SAMPLER_DEVICES"),
        (3, {"sampler_devices": "1;7"}, "REINFORGE_SAMPLER_DEVICES"),
        (3, {"sampler_devices": "0;1;2"}, "REINFORGE_SAMPLER_DEVICES"),
        (1, {"vllm_servers": 2}, "REINFORGE_VLLM_SERVERS"),
    ],
)
def test_an_impossible_placement_is_refused_with_its_setting(
    count: int, settings: dict[str, Any], param: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        of(THREE[:count], **settings)
    assert (refused.value.code, refused.value.param) == ("impossible_placement", param)


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("REINFORGE_GPUS_PER_JOB", "3", "less than or equal to 2"),
        ("REINFORGE_GPUS_PER_JOB", "two", "valid integer"),
        ("REINFORGE_JOBS_PER_GPU", "0", "greater than or equal to 1"),
        ("REINFORGE_DEVICE", "gpu", "'auto', 'cpu' or 'cuda'"),
        ("REINFORGE_SERVING_ENGINE", "sglang", "'auto', 'transformers' or 'vllm'"),
        ("REINFORGE_VLLM_GPU_MEMORY", "half", "valid number"),
        ("REINFORGE_VLLM_GPU_MEMORY", "40", "less than or equal to 1"),
        ("REINFORGE_VLLM_GPU_MEMORY", "0", "greater than 0"),
        ("REINFORGE_VLLM_GPU_MEMORY", "nan", "input should be"),
        ("REINFORGE_VLLM_SLEEP", "yes", "'on', 'cache' or 'off'"),
        ("REINFORGE_VLLM_SERVERS", "0", "greater than or equal to 1"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, reason: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInput) as refused:
        read_settings()
    assert (refused.value.code, refused.value.param) == ("invalid_setting", variable)
    assert refused.value.message.startswith(f"{variable} is {value!r}: input should be")
    assert reason in refused.value.message and refused.value.hint
    assert placement_report()["param"] == variable, "reinforge up"


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("REINFORGE_TRAINER_DEVICES", "REINFORGE_TRAINER_DEVICES names GPU 9"),
        ("REINFORGE_GPUS_PER_JOB", "REINFORGE_GPUS_PER_JOB is '9': input should be"),
    ],
)
def test_the_worker_says_so_at_its_start(variable: str, message: str) -> None:
    environment = os.environ | {variable: "9", "REINFORGE_WORKER_TOKEN": "t", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "worker"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_a_job_gets_the_first_free_gpu() -> None:
    made = of(THREE)
    assert place(of([]), set()) == Placement(), "the CPU is always free"
    assert place(made, set()) == Placement((THREE[0],))
    assert place(made, {"GPU-aaaa-1"}) == Placement((THREE[1],))
    assert place(made, {gpu.uuid for gpu in THREE}) is None
    both = of(THREE, gpus_per_job=2)
    assert place(both, {"GPU-aaaa-1"}) == Placement((THREE[1],), ((THREE[2],),))
    assert place(both, {"GPU-aaaa-1", "GPU-bbbb-2"}) is None, "one is too few"


def test_a_trainer_sees_its_own_gpu_and_its_server_the_samplers() -> None:
    assert Placement().environment() == {}
    alone = Placement((THREE[2],))
    assert alone.shared and alone.environment() == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "2", "REINFORGE_VLLM_DEVICES": ""
    }  # fmt: skip
    apart = Placement((THREE[0],), ((THREE[1],),))
    assert not apart.shared
    assert (apart.environment()["CUDA_VISIBLE_DEVICES"], apart.environment()["REINFORGE_VLLM_DEVICES"]) == (
        "0",
        "1",
    )


def test_a_job_takes_all_groups_of_samplers_or_none(tmp_path: Path) -> None:
    gpus = [*THREE, *(Gpu(str(number), f"GPU-{number}") for number in (3, 4))]
    made = of(gpus, trainer_devices="0", sampler_devices="1,2;3,4")
    placement = place(made, set())
    assert placement == Placement((gpus[0],), ((gpus[1], gpus[2]), (gpus[3], gpus[4])))
    assert placement.environment()["REINFORGE_VLLM_DEVICES"] == "1,2;3,4"
    assert place(made, {"GPU-4"}) is None
    locks = GpuLocks(tmp_path)
    other = locks.lock(gpus[4], 1, "other")
    assert locks.take(made, "wrk") is None and other is not None
    os.close(other)
    hold = locks.take(made, "wrk")
    assert hold is not None and len(hold.descriptors) == 5
    hold.drop_samplers()
    assert len(hold.descriptors) == 1


def taken(hold: Hold | None) -> str:
    assert hold is not None
    return devices(hold.placement.trainers)


def test_two_workers_never_get_the_same_gpu(tmp_path: Path) -> None:
    one, other = GpuLocks(tmp_path), GpuLocks(tmp_path)
    made = of(THREE[:2])
    first, second = one.take(made, "wrk_1"), other.take(made, "wrk_2")
    assert (taken(first), taken(second)) == ("0", "1")
    assert one.take(made, "wrk_3") is None
    assert one.holders(made) == "GPU 0: wrk_1; GPU 1: wrk_2"
    assert first is not None
    first.release()
    assert taken(other.take(made, "wrk_3")) == "0"


def test_seats_let_jobs_share_and_a_whole_gpu_needs_all_of_them(tmp_path: Path) -> None:
    locks, made = GpuLocks(tmp_path), of(THREE[:1], jobs_per_gpu=2)
    first, second = locks.take(made, "a"), locks.take(made, "b")
    assert (taken(first), taken(second)) == ("0", "0") and locks.take(made, "c") is None
    assert second is not None
    second.release()
    assert locks.take_whole(THREE[0], 2, "serving") is None
    assert first is not None
    first.release()
    whole = locks.take_whole(THREE[0], 2, "serving")
    assert whole is not None and locks.take(made, "a") is None and not whole.requested
    assert locks.take(made, "a", urgent=True) is None and whole.requested, "a queued job asks for it"


def test_half_of_a_pair_is_released(tmp_path: Path) -> None:
    locks, made = GpuLocks(tmp_path), of(THREE[:2], gpus_per_job=2)
    alone = locks.take(of(THREE[1:2]), "other")
    assert locks.take(made, "pair") is None
    assert taken(locks.take(of(THREE[:1]), "third")) == "0", "the first of the pair is free again"
    assert alone is not None


def test_a_job_without_a_server_gives_the_samplers_gpu_back(tmp_path: Path) -> None:
    locks = GpuLocks(tmp_path)
    hold = locks.take(of(THREE[:2], gpus_per_job=2), "wrk")
    assert hold is not None and len(hold.descriptors) == 2
    hold.drop_samplers()
    assert taken(locks.take(of(THREE[1:2]), "other")) == "1" and hold.placement == Placement((THREE[0],))


def test_a_killed_trainer_gives_its_gpu_back_and_a_living_one_keeps_it(tmp_path: Path) -> None:
    locks, made = GpuLocks(tmp_path), of(THREE[:1])
    hold = locks.take(made, "wrk")
    assert hold is not None
    trainer = subprocess.Popen(
        [sys.executable, "-S", "-c", "import time; time.sleep(60)"], pass_fds=hold.descriptors
    )
    hold.release()  # as when the worker is killed
    assert locks.take(made, "next") is None
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    assert taken(locks.take(made, "next")) == "0"


def test_a_worker_without_a_free_gpu_says_what_it_waits_for(tmp_path: Path) -> None:
    settings = WorkerSettings(home=tmp_path)
    one, other = (JobGpus(settings, lambda: THREE[:1]) for _ in range(2))
    assert (one.device, JobGpus(settings, lambda: THREE).device) == (
        "cuda: NVIDIA H100 80GB HBM3", "cuda: 3 × NVIDIA H100 80GB HBM3"
    )  # fmt: skip
    with one.held("wrk_1") as first, other.held("wrk_2") as second:
        assert first is not None and second is None
        assert one.waits_for is None and other.waits_for == "every GPU is taken (GPU 0: wrk_1)"
    with other.held("wrk_2") as again:
        assert again is not None and other.waits_for is None
    with JobGpus(settings, list).held("wrk_3") as none:
        assert none == Hold(), "the CPU has no lock"


def test_a_job_of_several_devices_takes_them_all_or_none(tmp_path: Path) -> None:
    settings = WorkerSettings(home=tmp_path)
    one, other = (JobGpus(settings, lambda: THREE) for _ in range(2))
    with one.held("wrk_1") as first, other.held("wrk_2") as second:
        assert first is not None and second is not None
        assert not first.widen(3) and first.locks == {}, "two jobs cannot wait for each other"
        assert second.widen(2) and devices(second.placement.trainers) == "0,1"
        assert second.placement.environment()["CUDA_VISIBLE_DEVICES"] == "0,1"
        assert len(second.descriptors) == 2 and not first.widen(2)
        second.release()
        assert first.widen(3) and devices(first.placement.trainers) == "0,1,2"
    with other.held("wrk_2") as again:
        assert again is not None and again.widen(1) and devices(again.placement.trainers) == "0"


@pytest.mark.parametrize(
    ("settings", "drop", "message"),
    [
        ({}, False, "devices_per_job is 4, and this worker has 3 GPUs for trainers."),
        ({"sampler_devices": "2"}, True, "devices_per_job is 4, and this worker has 2 GPUs for trainers."),
        (
            {"gpus_per_job": 2},
            False,
            "devices_per_job is 4, and this worker has 3 GPUs for trainers and one for vLLM.",
        ),
        (
            {"sampler_devices": "1;2"},
            False,
            "devices_per_job is 4, and this worker has 1 GPU for trainers and 2 for vLLM.",
        ),
    ],
)
def test_more_devices_than_a_worker_has_are_refused(
    tmp_path: Path, settings: dict[str, Any], drop: bool, message: str
) -> None:
    with JobGpus(WorkerSettings(home=tmp_path, **settings), lambda: THREE).held("wrk_1") as hold:
        assert hold is not None
        if drop:
            hold.drop_samplers()
        before = hold.placement
        with pytest.raises(JobFailure) as refused:
            hold.widen(4)
        assert (refused.value.message, refused.value.code) == (message, "too_few_devices")
        assert refused.value.retryable and hold.placement == before and hold.locks


def test_a_worker_without_gpus_leaves_devices_to_the_trainer(tmp_path: Path) -> None:
    with JobGpus(WorkerSettings(home=tmp_path), list).held("wrk_1") as hold:
        assert hold is not None and hold.widen(8)
    assert Hold().widen(8)

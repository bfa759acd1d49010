"""A GPU that does not work is reported, never replaced by the CPU; the CPU can be requested."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from reinforge.errors import JobFailure
from reinforge.platform import doctor
from tests.support.tiny_models import write_tiny_classifier, write_tiny_model
from worker.machine import gpus
from worker.machine.gpu_assignment import placement_report
from worker.machine.gpus import cannot_open, driver_version, gpu_present, hide_unwanted
from worker.machine.torch_device import GpuUnavailable, compute_device, report
from worker.policy import load
from worker.policy.load import load_base_model
from worker.reward_models.load import Shelf
from worker.rewards.checkpoints import ModelProcess
from worker.serving import vllm_model
from worker.supervisor.trainer_process import child_environment

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build  (builder)  Tue Jan 1\n"
CLOSED = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC 12.3.0\n"
)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One without a GPU, for torch as well."""
    for name in ("dev", "driver"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(gpus, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(gpus, "DRIVER", tmp_path / "driver")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for name in ("CUDA_VISIBLE_DEVICES", "REINFORGE_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path


@pytest.fixture
def gpu(machine: Path) -> None:
    (machine / "dev" / "nvidia0").touch()
    (machine / "driver" / "version").write_text(CLOSED)


def test_without_a_gpu_it_is_the_cpu(machine: Path) -> None:
    (machine / "dev" / "nvidiactl").touch()  # a driver alone
    assert compute_device() == torch.device("cpu")


@pytest.mark.usefixtures("gpu")
def test_a_gpu_that_torch_cannot_open_pauses_the_job(machine: Path) -> None:
    folder = write_tiny_model(machine / "model")
    with pytest.raises(JobFailure) as failure:
        load_base_model(folder)
    assert failure.value.code == "gpu_unavailable" and failure.value.retryable
    assert "REINFORGE_DEVICE=cpu" in (failure.value.hint or "")
    with pytest.raises(JobFailure) as failure:
        vllm_model.load(folder)
    assert failure.value.code == "gpu_unavailable", "serving says the same"


@pytest.mark.usefixtures("gpu")
def test_a_reward_model_says_so_with_what_to_do(machine: Path) -> None:
    with pytest.raises(GpuUnavailable) as unavailable:
        Shelf().classifier(str(write_tiny_classifier(machine / "tone", ["bad", "good"])))
    reply = json.dumps(
        {"error": {"code": "gpu_unavailable", "message": "It is.", "hint": unavailable.value.hint}}
    )
    models = ModelProcess((sys.executable, "-c", f"input(); print({reply!r})"))
    try:
        with pytest.raises(JobFailure) as failure:
            models.ask({})
    finally:
        models.close()
    assert failure.value.code == "gpu_unavailable" and failure.value.retryable
    assert "REINFORGE_DEVICE" in (failure.value.hint or "")


@pytest.mark.usefixtures("gpu")
def test_the_cpu_can_be_requested(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_DEVICE", "cpu")
    base = load_base_model(write_tiny_model(machine / "model"))
    assert (base.model.device.type, base.model.dtype) == ("cpu", torch.float32)
    assert child_environment()["CUDA_VISIBLE_DEVICES"] == "", "libraries that ask CUDA themselves see none"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert compute_device().type == "cpu"


def test_a_gpu_can_be_demanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_DEVICE", "cuda")
    with pytest.raises(GpuUnavailable, match="no NVIDIA device"):
        compute_device()
    monkeypatch.setenv("REINFORGE_DEVICE", "tpu")
    with pytest.raises(GpuUnavailable, match="'tpu'"):
        compute_device()
    monkeypatch.setenv("REINFORGE_DEVICE", "auto")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert compute_device().type == "cuda"


@pytest.mark.usefixtures("gpu")
def test_a_hidden_gpu_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "REINFORGE_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    assert gpu_present() and gpu_present("0")
    assert not gpu_present("") and not gpu_present("-1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert not gpu_present()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert gpu_present()
    monkeypatch.setenv("REINFORGE_DEVICE", "cpu")
    assert not gpu_present()
    environment = {"CUDA_VISIBLE_DEVICES": "1"}
    hide_unwanted(environment)
    assert environment == {"CUDA_VISIBLE_DEVICES": "1"}


@pytest.mark.parametrize(("text", "version"), [(OPEN, "570.86.10"), (CLOSED, "550.54.15"), ("", None)])
def test_the_drivers_version_is_read(machine: Path, text: str, version: str | None) -> None:
    assert driver_version() is None
    (machine / "driver" / "version").write_text(text)
    assert driver_version() == version


@pytest.mark.parametrize(
    ("cuda", "driver", "sentence", "remedy"),
    [
        ("13.0", "550.54.15", "driver 550.54.15", "CUDA 13 needs driver 580 or newer"),
        ("13.0", None, "driver of unknown version", "CUDA 13 needs driver 580 or newer"),
        ("12.8", "570.1", "driver 570.1", "nvidia-smi"),
        ("13.0", "580.65.06", "driver 580.65.06", "nvidia-smi"),
        (None, "570.1", "built without CUDA", "CUDA build of torch"),
    ],
)
def test_what_to_do_depends_on_torch_and_driver(
    cuda: str | None, driver: str | None, sentence: str, remedy: str
) -> None:
    message, hint = cannot_open("2.13.0", cuda, driver, "too old")
    assert sentence in message and remedy in hint and "REINFORGE_DEVICE=cpu" in hint


def test_weights_go_straight_to_the_gpu(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments_received: list[dict[str, Any]] = []

    def refuse(*_: Any, **arguments: Any) -> Any:
        arguments_received.append(arguments)
        raise ValueError("seen enough")

    monkeypatch.setattr(load.AutoModelForCausalLM, "from_pretrained", refuse)
    folder = write_tiny_model(machine / "model")
    for device in ("cuda", "cpu"):
        with pytest.raises(JobFailure, match="seen enough"):
            load_base_model(folder, device=torch.device(device))
    assert (
        arguments_received[0]["device_map"] == {"": torch.device("cuda")}
        and arguments_received[0]["dtype"] == torch.bfloat16
    )
    assert arguments_received[1]["device_map"] is None and arguments_received[1]["dtype"] == torch.float32


def checked(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> doctor.Check:
    output = json.dumps(report() | {"placement": placement_report()} | changes)
    monkeypatch.setattr(doctor, "_run", lambda *_, **__: doctor._RunOutput(output, None))
    return doctor.check_torch()


@pytest.mark.usefixtures("gpu")
def test_the_doctor_fails_where_jobs_would(monkeypatch: pytest.MonkeyPatch) -> None:
    check = checked(monkeypatch)
    assert check.status == "fail" and "NVIDIA GPU" in check.message
    assert "REINFORGE_DEVICE" in (check.remedy or "")
    monkeypatch.setenv("REINFORGE_DEVICE", "cpu")
    check = checked(monkeypatch)
    assert check.status == "warn" and "as REINFORGE_DEVICE requires" in check.message


def test_the_doctor_tells_how_jobs_are_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    several = checked(monkeypatch, gpu="H100", placement={"jobs": 8})
    assert (several.status, "H100, 8 jobs at a time" in several.message) == ("ok", True)
    monkeypatch.setenv("REINFORGE_TRAINER_DEVICES", "4")
    check = checked(monkeypatch)
    assert (
        check.status == "fail" and "REINFORGE_TRAINER_DEVICES names GPU 4" in check.message and check.remedy
    )

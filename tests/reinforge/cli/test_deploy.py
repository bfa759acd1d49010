"""`reinforge deploy …` as a process."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.base_models.chat_templates import PLAIN
from tests.reinforge.cli.results.test_weights import adapter, finished_job
from tests.reinforge.cli.test_commands import NOW, run
from tests.support.stub_server import Answer, StubServer

COMMAND = "vllm serve org/name --enable-lora --lora-modules sums=./sums --max-lora-rank 16"


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def deployment(state: str = "ready", **more: Any) -> dict[str, Any]:
    return {
        "id": "dep_1", "name": "sums", "model": "tiny", "adapter": "adp_1", "checkpoint": "ftckpt_1", "job": "ftjob-1",
        "step": 9, "bytes": 4, "state": state, "error": None, "under_way": 0,
        "usage": {"requests": 1234, "failed_requests": 0, "prompt_tokens": 56789, "completion_tokens": 5},
        "vllm": {"command": COMMAND, "folder": "./sums", "rank": 9, "max_lora_rank": 16, "notes": ["Unpack it."]},
        "created_by": "me", "last_used_at": None, "created_at": NOW, "updated_at": NOW,
    } | more  # fmt: skip


@pytest.mark.parametrize(
    ("what", "target"),
    [
        ("ftjob-1", {"checkpoint": "ftckpt_20"}),
        ("ftjob-1 --final", {"adapter": "adp_1"}),
        ("ftjob-1 --step 60", {"adapter": "adp_1"}),
        ("adp_7", {"adapter": "adp_7"}),
        ("ftckpt_7", {"checkpoint": "ftckpt_7"}),
        ("tiny", {"model": "tiny"}),
    ],
)
def test_jobs_adapters_checkpoints_and_models_can_be_deployed(
    stub: StubServer, what: str, target: dict[str, str]
) -> None:
    finished_job(stub)
    stub.on("GET", "/adapters/adp_7", Answer(200, adapter("adp_7")))
    stub.on("POST", "/deployments", Answer(201, deployment("loading")))
    stub.on("GET", "/deployments/dep_1", Answer(200, deployment()))
    done = run(stub, "deploy", "create", *what.split(), "--name", "sums")
    assert (done.returncode, done.stdout) == (0, "dep_1\n")
    assert f"the model 'sums' from {stub.url}/v1" in " ".join(done.stderr.split())
    [body] = [request.json for request in stub.requests if request.method == "POST"]
    assert {key: value for key, value in body.items() if value is not None} == {"name": "sums", **target}


def test_one_that_cannot_be_loaded_fails(stub: StubServer) -> None:
    why = {"code": "model_load_failed", "message": "No weights.", "hint": "Look."}
    stub.on("GET", "/adapters/adp_7", Answer(200, adapter("adp_7")))
    stub.on("POST", "/deployments", Answer(201, deployment("loading")))
    stub.on("GET", "/deployments/dep_1", Answer(200, deployment("failed", error=why)))
    failed = run(stub, "deploy", "create", "adp_7", "--name", "sums")
    assert failed.returncode == 1
    assert "No weights. Look." in " ".join(failed.stderr.split())


def test_a_job_without_an_adapter_cannot_be_deployed(stub: StubServer) -> None:
    finished_job(stub, adapter=None)
    failed = run(stub, "deploy", "create", "ftjob-1", "--name", "sums")
    assert failed.returncode == 5 and "checkpoint" in failed.stderr


def test_weights_that_are_not_better_than_the_base_need_a_choice(stub: StubServer) -> None:
    finished_job(stub, best=None)
    refused = run(stub, "deploy", "create", "ftjob-1", "--name", "sums")
    assert refused.returncode == 5
    assert "No checkpoint is better than the base (0.58): step 20 reached 0.41." in refused.stderr
    assert not [request for request in stub.requests if request.method == "POST"]


def test_the_list(stub: StubServer) -> None:
    stub.on("GET", "/deployments", Answer(200, {"data": [deployment()]}))
    listed = run(stub, "deploy", "list")
    for word in ("sums", "ready", "1,234", "56,789"):
        assert word in listed.stdout
    [deployment_listed] = json.loads(run(stub, "deploy", "list", "--json").stdout)
    assert deployment_listed["name"] == "sums"


def test_stopping_waits_for_what_is_under_way(stub: StubServer) -> None:
    stub.on("POST", "/deployments/sums/stop", Answer(200, deployment("draining")))
    stub.on(
        "GET", "/deployments/sums", Answer(200, deployment("draining")), Answer(200, deployment("stopped"))
    )
    stub.on("DELETE", "/deployments/sums", Answer(204, b""))
    done = run(stub, "deploy", "stop", "sums", "--delete")
    assert (done.returncode, "sums is deleted" in done.stderr) == (0, True)
    assert [request.method for request in stub.requests] == ["POST", "GET", "GET", "DELETE"]


def test_pointing_elsewhere(stub: StubServer) -> None:
    stub.on("GET", "/deployments/sums", Answer(200, deployment(etag="seen")))
    stub.on("PATCH", "/deployments/sums", Answer(200, deployment("loading")))
    stub.on("GET", "/deployments/dep_1", Answer(200, deployment()))
    assert run(stub, "deploy", "point", "sums", "ftckpt_2").returncode == 0
    [request] = [recorded for recorded in stub.requests if recorded.method == "PATCH"]
    assert (request.json["checkpoint"], request.headers["if-match"]) == ("ftckpt_2", "seen")


def test_the_command_for_vllm_is_all_of_stdout(stub: StubServer) -> None:
    stub.on("GET", "/deployments/sums", Answer(200, deployment()))
    done = run(stub, "deploy", "vllm", "sums")
    assert done.stdout == COMMAND + "\n"
    assert "reinforge adapter download adp_1 --to ./sums" in done.stderr
    stub.on("GET", "/deployments/best", Answer(200, deployment(adapter=None)))
    best = run(stub, "deploy", "vllm", "best")
    assert "reinforge adapter download ftjob-1 --step 9 --to ./sums" in best.stderr


def test_a_chosen_chat_template_is_written_first(stub: StubServer, tmp_path: Path) -> None:
    """What is not on stdout can be pasted: it makes the file that the command names."""
    view = deployment()
    view["vllm"] |= {"chat_template": PLAIN, "notes": []}
    stub.on("GET", "/deployments/sums", Answer(200, view | {"adapter": None, "job": None}))
    done = run(stub, "deploy", "vllm", "sums")
    assert done.stdout == COMMAND + "\n"
    subprocess.run(["sh", "-c", done.stderr], cwd=tmp_path, check=True)
    assert (tmp_path / "chat_template.jinja").read_text() == PLAIN

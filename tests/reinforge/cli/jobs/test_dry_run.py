"""`reinforge job create --dry-run`, `--no-input`, and what nobody may overwrite: as processes."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reinforge.cli
from reinforge.cli.exits import Exit, exit_code
from reinforge.client.protocol import error_from
from reinforge.spec import JobSpec
from tests.reinforge.cli.test_commands import DATASET, JOB, NOW, REWARD, error, job_files, page, run
from tests.support.stub_server import Answer, StubServer

SPEC = JobSpec.model_validate(
    {"model": "starter-arith", "data": {"dataset": "file-1"}, "rewards": [{"type": "python", "reward": "rew_1"}],
     "rollout": {"prompts_per_step": 4, "completions_per_prompt": 8, "max_completion_tokens": 64},
     "limits": {"steps": 10}}
).resolved()  # fmt: skip
FACTS = {"rows": 100, "training_rows": 80, "held_out_rows": 20, "completions_per_step": 32, "completions": 320,
         "epochs": 0.5, "longest_prompt_tokens": 9, "prompt_limit": 64, "jail": "L"}  # fmt: skip
CHECK: dict[str, Any] = {"object": "job.check", "ok": True, "warnings": ["40 rows are never seen."], "facts": FACTS,
                         "spec": SPEC.model_dump(mode="json")}  # fmt: skip
MODEL: dict[str, Any] = {
    "id": "starter-arith", "source": "builtin", "status": "ready", "architecture": None, "parameters": 1,
    "context_length": 1, "has_chat_template": True, "bytes": 1, "licence": None, "sha256": None, "created_at": NOW,
    "memory": {"weights": 2, "train": 3_200_000_000},
}  # fmt: skip

SECONDS = {"low": 180.0, "expected": 240.0, "high": 420.0}
DEFAULTS: dict[str, Any] = {
    "data": [
        {"field": "rollout.engine", "value": "auto", "becomes": "transformers", "reason": "No GPU.",
         "basis": "workers"},
        {"field": "rollout.prompts_per_step", "value": 16, "reason": "Enough rows.", "basis": "general"},
        {"field": "limits.steps", "value": 67, "reason": "They see each row 20 times.", "basis": "data"},
    ],
    "estimate": {"seconds_per_step": {"low": 1, "expected": 2, "high": 3}, "seconds": SECONDS, "source": "jobs",
                 "ids": ["ftjob-1"], "device": "cpu", "reason": "From 1 earlier job."},
}  # fmt: skip


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    server.on("GET", "/datasets", page())
    server.on("POST", "/datasets", Answer(201, DATASET))
    server.on("GET", "/rewards", page())
    server.on("POST", "/rewards", Answer(201, REWARD))
    server.on("POST", "/jobs/check", Answer(200, CHECK))
    server.on("GET", "/models/starter-arith", Answer(200, MODEL))
    server.on("POST", "/jobs/defaults", Answer(200, DEFAULTS))
    yield server
    server.close()


def test_it_says_how_much_a_job_would_be_and_makes_none(stub: StubServer, tmp_path: Path) -> None:
    file = str(job_files(tmp_path))
    done = run(stub, "job", "create", "-f", file, "--dry-run")
    assert done.returncode == 0, done.stderr
    time = "about 4 min 00 s (3 min 00 s to 7 min 00 s), 2 s (1 s to 3 s) a step. From 1 earlier job."
    for words in ("80 to train on, 20 held out", "320, 32 a step", "20,480 at most", "about 3.2 GB", time):
        assert words in done.stdout
    assert "40 rows are never seen." in done.stderr and f"reinforge preflight {file} --server" in done.stderr
    request = next(recorded for recorded in stub.requests if recorded.path.endswith("/jobs/check"))
    assert (request.json["data"]["dataset"], request.query) == ("file-1", "")
    assert not [
        recorded
        for recorded in stub.requests
        if recorded.method == "POST" and recorded.path.endswith("/jobs")
    ]
    timed = next(recorded for recorded in stub.requests if recorded.path.endswith("/jobs/defaults")).json
    assert timed["limits"] == {"steps": 10}, "of the job as it would be created"
    assert timed["rollout"] == {
        "prompts_per_step": 4, "completions_per_prompt": 8, "max_completion_tokens": 64,
    }  # fmt: skip
    report = json.loads(run(stub, "job", "create", "-f", file, "--dry-run", "--json").stdout)
    assert report["time"]["seconds"] == SECONDS
    assert report["estimate"] == {
        "steps": 10, "prompts": 40, "completions": 320, "completion_tokens_at_most": 20480, "seconds_at_most": None,
        "memory_bytes": 3_200_000_000,
    }  # fmt: skip


def test_suggested_values_are_listed_with_reasons_and_fill_what_the_file_leaves_open(
    stub: StubServer, tmp_path: Path
) -> None:
    file = str(job_files(tmp_path))
    done = run(stub, "job", "defaults", "-f", file, "--set", "rollout.prompts_per_step=4")
    assert done.returncode == 0, done.stderr
    for words in (
        "auto (transformers)",
        "No GPU.",
        "67",
        "They see each row 20 times.",
        "time: about 4 min 00 s",
    ):
        assert words in done.stdout
    stub.on("POST", "/jobs", Answer(201, JOB))
    done = run(stub, "job", "create", "-f", file, "--set", "rollout.prompts_per_step=4", "--suggested")
    assert done.returncode == 0, done.stderr
    assert "limits.steps: 67. They see each row 20 times." in done.stderr
    assert "rollout.prompts_per_step" not in done.stderr, "the job's own value wins"
    created = [one for one in stub.requests if one.method == "POST" and one.path.endswith("/jobs")][-1].json
    assert (created["limits"], created["rollout"]) == ({"steps": 67}, {"prompts_per_step": 4})


def test_a_job_that_would_be_refused_is_wrong_input(stub: StubServer, tmp_path: Path) -> None:
    problem = {"param": "limits.steps", "message": "too many steps", "hint": "Fewer."}
    stub.on("POST", "/jobs/check", Answer(200, {"ok": False, "problems": [problem]}))
    done = run(stub, "job", "create", "-f", str(job_files(tmp_path)), "--dry-run")
    assert (done.returncode, done.stdout) == (2, "")
    assert "too many steps (limits.steps)" in done.stderr and "Fewer." in done.stderr
    both = run(stub, "job", "create", "-f", str(job_files(tmp_path)), "--dry-run", "--wait")
    assert both.returncode == 2


def test_a_model_that_no_worker_has_inspected_has_no_estimate(stub: StubServer, tmp_path: Path) -> None:
    stub.on("GET", "/models/starter-arith", error(404, "none"))
    done = run(stub, "job", "create", "-f", str(job_files(tmp_path)), "--dry-run")
    assert (done.returncode, "memory " in done.stdout) == (0, False)


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_no_input_may_stand_anywhere(stub: StubServer, place: int) -> None:
    stub.on("GET", "/jobs", page(JOB))
    words = ["job", "list", "--json"]
    done = run(stub, *words[:place], "--no-input", *words[place:])
    assert done.returncode == 0, done.stderr
    assert [job["id"] for job in json.loads(done.stdout)] == ["ftjob-1"]


def test_no_command_asks_anything() -> None:
    """`--no-input` promises it. One that is to ask has to fail with wrong usage under that option instead."""
    asking = {"input", "prompt", "confirm", "getpass", "ask"}
    for path in Path(next(iter(reinforge.cli.__path__))).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                assert name not in asking, f"{path.name}:{node.lineno} asks"


@pytest.mark.parametrize(("status", "code"), [(412, Exit.CONFLICT), (428, Exit.CONFLICT), (503, Exit.SERVER)])
def test_an_edit_that_is_not_made_from_the_present_state_is_a_conflict(status: int, code: Exit) -> None:
    import httpx

    assert exit_code(error_from(httpx.Response(status, json={}))) == code

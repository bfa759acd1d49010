"""The command line as a process: output, errors and exit codes, against a real HTTP server."""

import importlib.metadata
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from reinforge.cli.evaluation.golden import read_cases
from reinforge.reward_library import portable
from tests.support.preloaded import run_module
from tests.support.stub_server import Answer, StubServer

NOW = "2026-01-02T03:04:05Z"
JOB: dict[str, Any] = {
    "id": "ftjob-1", "name": "adds", "project": "default", "status": "queued", "attempt": 1, "model": "starter-arith",
    "dataset": "file-1", "reward_names": ["correct"], "created_at": NOW, "spec": {},
    "progress": {"step": 0, "steps": 3, "percent": 0.0},
}  # fmt: skip
DATASET: dict[str, Any] = {
    "id": "file-1", "name": "rows.jsonl", "filename": "rows.jsonl", "format": "jsonl", "bytes": 20, "rows": 1,
    "sha256": "0" * 64, "columns": [{"name": "prompt"}], "created_at": NOW, "warnings": ["1 row: no held-out split"],
}  # fmt: skip
REWARD: dict[str, Any] = {
    "id": "rew_1", "name": "reward", "description": None, "revision": 1, "entry": None, "granularity": "sample",
    "created_at": NOW, "updated_at": NOW,
    "revisions": [{"revision": 1, "source": "x", "sha256": "0" * 64, "entries": [], "created_at": NOW}],
}  # fmt: skip


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def run(
    stub: StubServer, *args: str, key: str = "rf-test", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "REINFORGE_URL": stub.url,
        "REINFORGE_API_KEY": key,
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }
    return run_module("reinforge.cli.main", *args, env=environment, cwd=cwd, timeout=120)


def error(status: int, message: str, **more: Any) -> Answer:
    return Answer(status, {"error": {"message": message, **more}}, {"x-should-retry": "false"})


def page(*items: dict[str, Any]) -> Answer:
    return Answer(200, {"object": "list", "data": list(items), "has_more": False, "next_cursor": None})


def test_json_is_the_only_thing_on_stdout(stub: StubServer) -> None:
    stub.on("GET", "/jobs", page(JOB))
    done = run(stub, "job", "list", "--json")
    assert done.returncode == 0
    assert [job["id"] for job in json.loads(done.stdout)] == ["ftjob-1"]


def test_an_empty_list_says_what_to_do(stub: StubServer) -> None:
    stub.on("GET", "/jobs", page())
    done = run(stub, "job", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "reinforge job create" in done.stderr


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (error(422, "bad"), 2),
        (error(401, "who"), 4),
        (error(403, "no"), 4),
        (error(404, "none"), 5),
        (error(409, "state"), 5),
        (error(503, "no worker", hint="Start one."), 6),
    ],
)
def test_exit_codes(stub: StubServer, answer: Answer, code: int) -> None:
    stub.on("GET", "/jobs/ftjob-1", answer)
    done = run(stub, "job", "show", "ftjob-1")
    assert done.returncode == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    message = answer.body["error"]["message"]
    assert message in done.stderr


def test_error_shows_line_and_hint(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{")
    stub.on("GET", "/datasets", page())
    problem = {"line": 1, "column": 2, "message": "the JSON ends here", "excerpt": "{"}
    stub.on("POST", "/datasets", error(422, "Line 1 is not JSON.", hint="Upload it again.", errors=[problem]))
    done = run(stub, "dataset", "push", "rows.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "line 1, column 2: the JSON ends here" in done.stderr
    assert "Upload it again." in done.stderr


@pytest.mark.parametrize("args", [["job", "creat"], ["job", "create"], ["job", "list", "--statuss", "x"], []])
def test_wrong_usage(stub: StubServer, args: list[str]) -> None:
    done = run(stub, *args)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_show_says_whether_shaping_is_in_the_held_out_figures(stub: StubServer) -> None:
    held_out = {"held_out_reward_before": 0.5, "held_out_reward": 0.57}
    for marked, end in (
        (True, "0.500 → 0.570  (includes the preset's shaping: job made before 0.2)"),
        (False, "0.570"),
    ):
        stub.on("GET", "/jobs/ftjob-1", Answer(200, JOB | held_out | {"held_out_includes_shaping": marked}))
        done = run(stub, "job", "show", "ftjob-1")
        (line,) = [line for line in done.stdout.splitlines() if "held-out" in line]
        assert line.rstrip().endswith(end), done.stdout


def job_files(folder: Path) -> Path:
    (folder / "rows.jsonl").write_text('{"prompt": "1+1"}\n')
    (folder / "reward.py").write_text("def grade(sample, item): return 1\n")
    path = folder / "job.yaml"
    path.write_text(
        "model: starter-arith\ndata: {dataset: rows.jsonl}\nrewards: [{type: python, path: reward.py}]\n"
    )
    return path


def test_create_pushes_the_files_and_names_them_by_id(stub: StubServer, tmp_path: Path) -> None:
    stub.on("GET", "/datasets", page())
    stub.on("POST", "/datasets", Answer(201, DATASET))
    stub.on("GET", "/rewards", page())
    stub.on("POST", "/rewards", Answer(201, REWARD))
    stub.on("POST", "/jobs", Answer(201, JOB))
    done = run(stub, "job", "create", "-f", str(job_files(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "ftjob-1"
    sent = next(request.json for request in stub.requests if request.path.endswith("/jobs"))
    assert sent["data"]["dataset"] == "file-1"
    assert sent["rewards"] == [{"type": "python", "reward": "rew_1"}]


def test_a_bad_job_file_reaches_no_server(stub: StubServer, tmp_path: Path) -> None:
    path = job_files(tmp_path)
    path.write_text(path.read_text() + "rollout: {completions_per_prompt: 1}\n")
    done = run(stub, "job", "create", "-f", str(path))
    assert done.returncode == 2
    assert "rollout.completions_per_prompt" in done.stderr
    assert stub.requests == []


def events(*batches: list[dict[str, Any]]) -> bytes:
    frames = []
    for batch in batches:
        seq = batch[-1]["seq"]
        data = json.dumps({"seq": seq, "events": batch})
        frames.append(f"id: ftjob-1:{seq}\nevent: batch\ndata: {data}\n\n")
    return "".join(frames).encode()


def event(seq: int, type: str, **data: Any) -> dict[str, Any]:
    return {"seq": seq, "job": "ftjob-1", "type": type, "data": data}


@pytest.mark.parametrize(
    ("status", "code"), [("succeeded", 0), ("failed", 1), ("paused", 1), ("cancelled", 2)]
)
def test_watch_ends_with_the_job(stub: StubServer, status: str, code: int) -> None:
    metrics = {"step": 1, "kind": "train", "values": {"reward/mean": 0.5, "entropy/mean": 0.1}}
    stream = events(
        [event(1, "status", status="running"), event(2, "metrics", **metrics)],
        [event(3, "status", status=status)],
    )
    stub.on("GET", "/jobs/ftjob-1", Answer(200, JOB), Answer(200, JOB | {"status": status}))
    stub.on("GET", "/jobs/ftjob-1/stream", Answer(200, stream, {"content-type": "text/event-stream"}))
    stub.on("GET", "/jobs/ftjob-1/events", page())
    done = run(stub, "job", "watch", "ftjob-1", "--exit-status")
    assert done.returncode == code, done.stderr
    assert "step 1/3  reward 0.500" in done.stderr


def test_a_paused_job_tells_how_to_go_on_and_does(stub: StubServer) -> None:
    paused = JOB | {"status": "paused", "error": {"code": "reward_errors", "message": "All rows failed."}}
    stub.on("GET", "/jobs/ftjob-1", Answer(200, paused))
    assert "reinforge job resume ftjob-1" in run(stub, "job", "show", "ftjob-1").stdout
    stub.on("POST", "/jobs/ftjob-1/resume", Answer(200, JOB | {"status": "queued"}))
    done = run(stub, "job", "resume", "ftjob-1")
    assert done.returncode == 0, done.stderr
    assert "ftjob-1 is queued" in done.stderr
    assert stub.requests[-1].path.endswith("/jobs/ftjob-1/resume")


def test_a_broken_stream_is_taken_up_where_it_broke(stub: StubServer) -> None:
    def step(seq: int, number: int) -> dict[str, Any]:
        return event(seq, "metrics", step=number, kind="train", values={"reward/mean": number / 10})

    headers = {"content-type": "text/event-stream"}
    first = Answer(200, events([step(1, 1), step(2, 2)]), headers)
    second = Answer(200, events([step(2, 2), step(3, 3)], [event(4, "status", status="succeeded")]), headers)
    stub.on("GET", "/jobs/ftjob-1/stream", first, second)
    running = Answer(200, JOB | {"status": "running"})
    stub.on("GET", "/jobs/ftjob-1", running, running, Answer(200, JOB | {"status": "succeeded"}))
    stub.on("GET", "/jobs/ftjob-1/events", page())
    done = run(stub, "job", "watch", "ftjob-1")
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[0] for line in done.stderr.splitlines() if line.startswith("step")] == [
        "step 1/3", "step 2/3", "step 3/3",
    ]  # fmt: skip
    streams = [
        request.headers["last-event-id"] for request in stub.requests if request.path.endswith("/stream")
    ]
    assert streams == ["ftjob-1:0", "ftjob-1:2"]


def test_reward_test_fails_when_a_row_errs(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "reward.py").write_text("def grade(sample, item): return 1\n")
    good = {"name": "reward", "status": "ok", "value": 1.0, "parts": {"format": 0.5}, "reason": "right"}
    bad = {"name": "reward", "status": "exception", "value": None, "message": "ZeroDivisionError: line 3"}
    stub.on("POST", "/rewards/test", Answer(200, {"jail": "L", "results": [good, bad]}))
    done = run(stub, "reward", "test", "reward.py", "--completion", "a", "--completion", "b", cwd=tmp_path)
    assert done.returncode == 1
    assert "format = 0.500" in done.stdout and "ZeroDivisionError: line 3" in done.stdout
    assert [row["completion"] for row in stub.requests[0].json["rows"]] == ["a", "b"]


@pytest.mark.parametrize("administrator", [False, True])
def test_login_stores_the_key_for_its_owner_alone(
    stub: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, administrator: bool
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    me = {"administrator": administrator}
    stub.on("POST", "/sign-in", Answer(200, me, {"set-cookie": "reinforge_session=abc; Path=/"}))
    stub.on("POST", "/keys", Answer(201, {"key": "rf-made"}))
    done = run(stub, "login", f"{stub.url}/sign-in?token=once-only-token")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "reinforge" / "credentials.json"
    assert json.loads(path.read_text())[stub.url] == "rf-made"
    assert path.stat().st_mode & 0o077 == 0
    assert stub.requests[-1].headers["cookie"] == "reinforge_session=abc"
    assert stub.requests[-1].json.get("administrator", False) is administrator


def test_the_installed_command_is_the_one_that_explains_errors() -> None:
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="reinforge")
    assert command.value == "reinforge.cli.main:main"


def test_a_ready_reward_is_written_with_settings_and_cases_and_never_over_a_file(
    stub: StubServer, tmp_path: Path
) -> None:
    listed = run(stub, "reward", "library", "list", "--json")
    assert "exact_answer" in [reward["id"] for reward in json.loads(listed.stdout)]
    library_entry = run(stub, "reward", "library", "show", "shorter_wins")
    assert "BONUS = 0.2" in library_entry.stdout and "sees        a whole group" in library_entry.stdout
    options = ["use", "shorter_wins", "mine.py", "--set", "BONUS=0.5", "--cases"]
    done = run(stub, "reward", "library", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "mine.py\n")
    assert "--granularity group" in done.stderr
    text = (tmp_path / "mine.py").read_text()
    assert "def shorter_wins(" in text and "\nBONUS = 0.5  # between" in text
    again = run(stub, "reward", "library", "use", "exact_answer", "mine.py", cwd=tmp_path)
    assert (again.returncode, (tmp_path / "mine.py").read_text()) == (2, text)
    unknown = run(stub, "reward", "library", "use", "nope", cwd=tmp_path)
    assert unknown.returncode == 5
    assert "exact_answer" in unknown.stderr
    odd = run(stub, "reward", "library", "use", "exact_answer", "--set", "SPEED=1", cwd=tmp_path)
    assert odd.returncode == 2 and "LONGEST" in odd.stderr
    assert stub.requests == []


def test_the_cases_of_a_ready_reward_are_golden_cases(stub: StubServer, tmp_path: Path) -> None:
    assert run(stub, "reward", "library", "use", "exact_answer", "--cases", cwd=tmp_path).returncode == 0
    assert len(read_cases(tmp_path / "exact_answer.golden.yaml")) == len(portable("exact_answer")) > 40


def completion(step: int, reward: float | None, text: str) -> dict[str, Any]:
    return {
        "step": step, "split": "train", "prompt_no": 3, "sample_no": 1, "row_index": 0, "prompt_hash": "h", "length": 4,
        "reward": reward, "advantage": None, "finish_reason": "stop", "text": text,
        "error": "exception" if reward is None else None,
    }  # fmt: skip


def test_completions_of_all_steps_by_words(stub: StubServer) -> None:
    rows = [completion(7, 0.25, "[bold]carry\nten"), completion(2, None, "carry")]
    hits = {"object": "list", "data": rows, "has_more": True, "total": 10_000, "counted_to": 10_000}
    stub.routes["GET", "/jobs/ftjob-1/completions/search"] = [Answer(200, hits)]
    done = run(stub, "job", "completions", "ftjob-1", "--search", 'carry "a b" -<x>', "--best", "2")
    assert done.returncode == 0, done.stderr
    assert "all steps: 2 of at least 10000 completions" in done.stderr
    assert "[bold]carry⏎ten" in done.stdout
    assert "exception" in done.stdout
    query = parse_qs(stub.requests[-1].query)
    assert query == {"q": ['carry "a b" -<x>'], "sort": ["-reward"], "limit": ["2"]}
    done = run(stub, "job", "completions", "ftjob-1", "--search", "x", "--step", "4", "--held-out", "--json")
    assert json.loads(done.stdout)["data"][0]["step"] == 7
    query = parse_qs(stub.requests[-1].query)
    assert (query["step_from"], query["step_to"], query["split"]) == (["4"], ["4"], ["held_out"])


def test_completions_of_all_steps_by_tool(stub: StubServer) -> None:
    row = completion(7, 0.25, "done") | {"turns": 3, "tool_calls": 2, "tool_errors": 1}
    hits = {"object": "list", "data": [row], "total": 1, "counted_to": 10_000}
    stub.routes["GET", "/jobs/ftjob-1/completions/search"] = [Answer(200, hits)]
    options = ["--tool", "search", "--tool-status", "error", "--turns-min", "2", "--finish", "max_turns"]
    done = run(stub, "job", "completions", "ftjob-1", *options)
    assert done.returncode == 0, done.stderr
    assert parse_qs(stub.requests[-1].query) == {
        "tool": ["search"], "tool_status": ["error"], "turns_min": ["2"], "finish_reason": ["max_turns"],
        "limit": ["32"],
    }  # fmt: skip
    [line] = [line for line in done.stdout.splitlines() if "done" in line]
    assert line.split()[-5:] == ["3", "2", "1", "stop", "done"]


def test_completions_of_one_step(stub: StubServer) -> None:
    page = {"object": "list", "data": [completion(5, 1.0, "x")], "total": 8, "step": 5, "steps": [5]}
    stub.routes["GET", "/jobs/ftjob-1/completions"] = [Answer(200, page)]
    done = run(stub, "job", "completions", "ftjob-1", "--worst", "1")
    assert "step 5: 1 of 8 completions" in done.stderr
    assert parse_qs(stub.requests[-1].query) == {"split": ["train"], "sort": ["reward"], "limit": ["1"]}

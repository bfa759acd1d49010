"""The RPC worker from end to end: a real sandbox, a toy backend over HTTP."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from reinforge.schemas.worker_api import CallMessage
from tests.support.supervised import wait_for
from tests.support.tiny_models import TOOL_TEMPLATE
from tests.support.worker_api_stub import TOKEN, StubWorkerApi
from tests.worker.sandbox.harness import running_daemon
from worker.backend_api.client import WorkerApi
from worker.backend_api.presence import Presence
from worker.models.folders import ModelFolders
from worker.models.sources import ModelStore
from worker.rpc.server import ALL, QUICK, CallWorker
from worker.starter.tokenizer import write_tokenizer

GRADE = (
    "def grade(sample, item):\n    print('seen')\n    return float(sample['output_text'] == item['answer'])\n"
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Path]:
    with running_daemon() as daemon:
        yield daemon.socket


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    config = {"model_type": "qwen3", "architectures": ["Toy"], "max_position_embeddings": 512}
    (folder / "config.json").write_text(json.dumps(config))
    save_file({"model.layers.0.q_proj.weight": torch.zeros(2, 3)}, folder / "model.safetensors")
    write_tokenizer(folder)
    return folder


@pytest.fixture
def worker(server: StubWorkerApi, sandbox: Path, tmp_path: Path) -> CallWorker:
    return CallWorker(
        WorkerApi(server.url, TOKEN),
        "wrk_1",
        ModelStore(tmp_path / "models", ModelFolders((tmp_path,))),
        sandbox,
    )


def ask(worker: CallWorker, kind: Any, payload: dict[str, Any]) -> tuple[Any, Any]:
    answer = worker.answer(CallMessage(id="call_1", kind=kind, payload=payload, deadline_seconds=10))
    return answer.result, answer.error


def test_validate_lists_the_functions_of_each_reward(worker: CallWorker) -> None:
    sources = [
        {"name": "good", "source": GRADE, "entry": None},
        {"name": "broken", "source": "x = 1\ndef grade(sample, item:\n    return 1\n", "entry": None},
        {"name": "empty", "source": "x = 1\n", "entry": None},
        {"name": "named", "source": GRADE, "entry": "other"},
    ]
    result, error = ask(worker, "validate", {"rewards": sources})
    assert error is None
    assert result["jail"] in ("L", "N")
    good, broken, empty, named = result["rewards"]
    assert good == {
        "name": "good",
        "entries": [{"name": "grade", "spelling": "openai", "line": 1, "columns": ["answer"]}],
        "error": None,
    }
    assert broken["error"]["line"] == 2
    assert "grade" in empty["error"]["message"]
    assert "other" in named["error"]["message"]


def test_score_gives_one_result_per_row(worker: CallWorker) -> None:
    rows = [{"completion": text, "item": {"answer": "2"}, "prompt": "1+1="} for text in ("2", "3")]
    rows.append({"completion": "2", "item": {}, "prompt": ""})
    payload = {"source": GRADE, "entry": None, "granularity": "sample", "timeout_seconds": 2.0, "rows": rows}
    result, error = ask(worker, "score", payload)
    assert error is None
    assert [row["value"] for row in result["results"]] == [1.0, 0.0, None]
    assert [row["status"] for row in result["results"]] == ["ok", "ok", "exception"]
    assert "seen" in result["results"][0]["prints"]
    assert "KeyError" in result["results"][2]["message"]
    assert result["load_error"] is None


def test_a_source_that_does_not_load_is_a_result_of_score(worker: CallWorker) -> None:
    payload = {"source": "import nowhere", "rows": [{"completion": "x"}]}
    result, error = ask(worker, "score", payload)
    assert error is None
    assert result["results"] == []
    assert "nowhere" in result["load_error"]


def test_without_a_sandbox_code_is_refused_with_the_reason(server: StubWorkerApi, tmp_path: Path) -> None:
    for socket, reason in ((None, "SANDBOX_SOCKET"), (tmp_path / "no.sock", "no.sock")):
        worker = CallWorker(WorkerApi(server.url, TOKEN), "wrk_1", ModelStore(tmp_path), socket)
        _, error = ask(worker, "validate", {"rewards": [{"name": "a", "source": GRADE}]})
        assert error["code"] == "sandbox_unavailable"
        assert reason in error["message"]


def test_render_counts_tokens_and_names_the_longest(worker: CallWorker, model: Path) -> None:
    rows = [[{"role": "user", "content": content}] for content in ("1+1=", "10+10=", "2+2=")]
    result, error = ask(worker, "render", {"model_source": str(model), "rows": rows, "max_prompt_tokens": 10})
    assert error is None
    assert result["prompts"][0]["text"] == "<|user|>1+1=<|assistant|>"
    assert [prompt["tokens"] for prompt in result["prompts"]] == [6, 8, 6]
    assert result["longest"] == {"index": 1, "tokens": 8}
    assert result["context_length"] == 512


def test_the_tools_of_rows_are_rendered_where_they_have_a_place(worker: CallWorker, model: Path) -> None:
    tool = {"type": "function", "function": {"name": "add"}}
    rows = [[{"role": "user", "content": "1+1="}]] * 2
    payload = {"model_source": str(model), "rows": rows, "tools": [[tool], None]}
    result, _ = ask(worker, "render", payload)
    assert [prompt["text"] for prompt in result["prompts"]] == ["<|user|>1+1=<|assistant|>"] * 2
    assert result["takes_tools"] is False

    (model / "chat_template.jinja").write_text(
        "{% for t in tools or [] %}2+{% endfor %}{{ messages[0].content }}"
    )
    result, _ = ask(worker, "render", payload)
    assert [prompt["text"] for prompt in result["prompts"]] == ["2+1+1=", "1+1="]
    assert result["takes_tools"] is True and result["longest"]["index"] == 0


CALLS = "def grade(sample, item):\n    return float(len(sample['output_tools']))\n"


def test_rewards_see_the_calls_of_rows_that_have_tools(worker: CallWorker) -> None:
    text = 'So: <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    items: list[dict[str, Any]] = [{"tools": [{"name": "add"}]}, {}, {"tools": "hammer"}]
    rows = [{"completion": text, "item": item} for item in items]
    result, _ = ask(worker, "score", {"source": CALLS, "rows": rows})
    assert [row["value"] for row in result["results"]] == [1.0, 0.0, 0.0]

    grader = {"type": "string_check", "name": "a", "operation": "eq", "reference": '{"a": 1}',
              "input": "{{ sample.output_tools[0].function.arguments }}"}  # fmt: skip
    result, error = ask(worker, "score", {"grader": grader, "rows": rows})
    assert error is None
    assert [row["value"] for row in result["results"]] == [1.0, None, None]
    assert [row["code"] for row in result["results"]] == [None, "invalid_variable", "invalid_variable"]


def test_a_template_that_cannot_continue_behind_a_tool_is_refused(worker: CallWorker, model: Path) -> None:
    tool = {
        "type": "function",
        "function": {"name": "add", "parameters": {"type": "object", "properties": {}}},
    }
    payload = {"model_source": str(model), "rows": [[{"role": "user", "content": "x"}]], "tool_turns": [tool]}
    _, error = ask(worker, "render", payload)
    assert (error["code"], error["param"]) == ("template_not_continuable", "environment.type")
    (model / "chat_template.jinja").write_text(
        TOOL_TEMPLATE.replace("<end>", "{{ eos_token }}"), encoding="utf-8"
    )
    _, error = ask(worker, "render", payload)
    assert error is None


def test_a_template_behind_whose_answers_no_user_can_reply_is_refused(
    worker: CallWorker, model: Path
) -> None:
    payload = {"model_source": str(model), "rows": [[{"role": "user", "content": "x"}]], "user_turns": True}
    _, error = ask(worker, "render", payload)
    assert error is None
    endless = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<assistant>"
    (model / "chat_template.jinja").write_text(endless, encoding="utf-8")
    _, error = ask(worker, "render", payload)
    assert (error["code"], error["param"]) == ("template_not_continuable", "environment.reply")


def test_render_names_the_row_that_the_template_refuses(worker: CallWorker, model: Path) -> None:
    (model / "chat_template.jinja").write_text("{{ messages[0].content + '' }}")
    rows = [[{"role": "user", "content": "a"}], [{"role": "user", "content": 5}]]
    _, error = ask(worker, "render", {"model_source": str(model), "rows": rows, "max_prompt_tokens": 10})
    assert (error["code"], error["param"], error["errors"][0]["row"]) == (
        "prompt_not_renderable",
        "data.dataset",
        1,
    )


def test_a_tolerant_render_goes_on_after_a_row_that_is_refused(worker: CallWorker, model: Path) -> None:
    (model / "chat_template.jinja").write_text("{{ messages[0].content + '' }}")
    rows = [[{"role": "user", "content": content}] for content in ("a", 5, "1+1=")]
    payload = {"model_source": str(model), "rows": rows, "tolerant": True}
    result, error = ask(worker, "render", payload)
    assert error is None
    assert [prompt.get("text") for prompt in result["prompts"]] == ["a", None, "1+1="]
    assert "template" in result["prompts"][1]["error"]
    assert result["longest"]["index"] == 2

    lengths, _ = ask(worker, "render", {**payload, "texts": False})
    assert [prompt.get("tokens") for prompt in lengths["prompts"]] == [
        prompt.get("tokens") for prompt in result["prompts"]
    ]
    assert "text" not in lengths["prompts"][0]

    nothing, _ = ask(worker, "render", {**payload, "rows": rows[1:2]})
    assert nothing["longest"] is None


def test_inspect_model_and_what_it_refuses(worker: CallWorker, model: Path) -> None:
    result, error = ask(worker, "inspect_model", {"source": str(model)})
    assert error is None
    assert (result["architecture"], result["parameters"], result["lora_targets"]) == ("Toy", 6, ["q_proj"])
    assert result["has_chat_template"]
    for may, code in ((True, "model_not_found"), (False, "folder_not_allowed")):
        _, error = ask(worker, "inspect_model", {"source": "/nowhere", "any_folder": may})
        assert (error["code"], error["param"]) == (code, "source")


def test_a_grader_names_no_folder_outside_of_the_roots(worker: CallWorker) -> None:
    """One answer, whether it is there or not."""
    messages = set()
    for folder in ("/etc", "/nowhere", "/proc/1/root"):
        grader = {"type": "reward_model", "name": "r", "model": folder}
        result, error = ask(worker, "score", {"grader": grader, "rows": [{"completion": "1"}]})
        assert error is None and result["results"] == []
        messages.add(result["load_error"].replace(folder, "…"))
    assert len(messages) == 1 and "REINFORGE_MODEL_FOLDERS" in messages.pop()


def test_a_call_that_the_worker_cannot_read_is_answered_too(worker: CallWorker) -> None:
    result, error = ask(worker, "render", {"model_source": 3, "hub_token": ["secret"]})
    assert result is None
    assert (error["code"], error["type"]) == ("malformed_rpc", "unavailable_error")
    assert "model_source: Input should be a valid string; hub_token: " in error["message"]
    assert "rows: Field required" in error["message"] and "secret" not in str(error)


def test_a_bug_in_a_call_is_an_answer_without_the_exceptions_text(
    worker: CallWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("what a file says")

    monkeypatch.setattr("worker.rpc.server.render", broken)
    _, error = ask(worker, "render", {"model_source": "x", "rows": []})
    assert (error["code"], error["message"]) == ("internal_error", "The worker failed at render: KeyError.")


PANIC = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}


def test_a_librarys_panic_ends_its_call_and_no_thread(
    worker: CallWorker, model: Path, server: StubWorkerApi
) -> None:
    """A panic in Rust is a BaseException."""
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    (model / "tokenizer.json").write_text(json.dumps(tokenizer | {"pre_tokenizer": PANIC}))
    rows = [[{"role": "user", "content": "a" * 40 + "!"}]]
    payload = {"model_source": str(model), "rows": rows}
    server.state.calls += [
        {"id": f"call_{n}", "kind": "render", "payload": payload, "deadline_seconds": 10} for n in range(2)
    ]
    thread = worker.start(0, QUICK)
    wait_for(lambda: len(server.state.answers) == 2)
    assert thread.is_alive()
    for answer in server.state.answers.values():
        assert answer["error"] is not None and answer["result"] is None
    worker.stop.set()
    thread.join(20)
    assert not thread.is_alive()


def test_a_thread_that_has_ended_is_started_again(worker: CallWorker) -> None:
    ended = threading.Thread(target=str)
    ended.start()
    ended.join()
    threads = [ended]
    worker.replace_dead(threads, [QUICK])
    assert threads[0] is not ended and threads[0].is_alive()
    worker.stop.set()
    threads[0].join(20)


SLEEPS = "import time\ndef grade(sample, item):\n    time.sleep(59)\n    return 1.0\n"


def test_a_call_that_nobody_waits_for_ends_with_its_jail(worker: CallWorker, server: StubWorkerApi) -> None:
    """Two of them hold both jails of the sandbox; the next call is scored at once all the same."""
    server.state.hung_up.add("call_left")
    payload = {"source": SLEEPS, "timeout_seconds": 60.0, "rows": [{"completion": "x"}] * 2}
    left = CallMessage(id="call_left", kind="score", payload=payload, deadline_seconds=60)
    answer = worker.answer(left)
    assert answer.error is not None and answer.error["code"] == "sandbox_unavailable"
    result, error = ask(
        worker, "score", {"source": GRADE, "rows": [{"completion": "2", "item": {"answer": "2"}}]}
    )
    assert error is None and result["results"][0]["value"] == 1.0


HALF = r"""
def grade(sample, item):
    half = "\ud83d"
    print("print " + half)
    if item["kind"] == "raise":
        raise ValueError("raise " + half)
    return {"score": 1.0, "reason": "reason " + half}
"""


def test_half_a_character_in_what_a_reward_says_is_replaced(worker: CallWorker) -> None:
    """Python strings may hold lone surrogates; no JSON document, database or page may."""
    rows = [{"completion": "x", "item": {"kind": kind}} for kind in ("return", "raise")]
    answer = worker.answer(
        CallMessage(id="c", kind="score", payload={"source": HALF, "rows": rows}, deadline_seconds=10)
    )
    assert answer.error is None
    answer.model_dump_json()
    good, bad = answer.result["results"] if answer.result else []
    assert (good["status"], good["value"], good["reason"]) == ("ok", 1.0, "reason ?")
    assert good["prints"].startswith("print ")
    assert bad["status"] == "exception" and "raise ?" in bad["message"]


def test_an_answer_that_cannot_be_sent_is_an_error_and_the_rpc_worker_goes_on(
    worker: CallWorker, model: Path
) -> None:
    (model / "config.json").write_text('{"model_type": "qwen3", "architectures": ["\\ud83d"]}')
    result, error = ask(worker, "inspect_model", {"source": str(model)})
    assert (result, error["code"]) == (None, "internal_error")


def test_a_thread_of_the_rpc_worker_survives_the_unexpected(
    worker: CallWorker, server: StubWorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([RuntimeError("a bug"), RuntimeError("another")])
    next_call = worker._api.next_call

    def flaky(*arguments: Any) -> Any:
        for error in failures:
            raise error
        return next_call(*arguments)

    monkeypatch.setattr(worker._api, "next_call", flaky)
    monkeypatch.setattr("worker.rpc.server._AWAY_SECONDS", 0.01)
    payload = {"rewards": [{"name": "a", "source": GRADE}]}
    server.state.calls.append({"id": "c", "kind": "validate", "payload": payload, "deadline_seconds": 30})
    thread = threading.Thread(target=worker.loop, args=(QUICK, 0.1), daemon=True)
    thread.start()
    try:
        wait_for(lambda: "c" in server.state.answers)
    finally:
        worker.stop.set()
        thread.join(10)


def test_calls_come_over_http_and_slow_ones_do_not_hold_up_the_others(
    worker: CallWorker, server: StubWorkerApi, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def slow(*_: object, **__: object) -> dict[str, Any]:
        release.wait(30)
        return {"slow": True}

    monkeypatch.setattr("worker.rpc.inspect_model.inspect_model", slow)
    server.state.calls += [
        {"id": f"call_{n}", "kind": "inspect_model", "payload": {"source": "x"}, "deadline_seconds": 30}
        for n in range(3)
    ]
    threads = [threading.Thread(target=worker.loop, args=(kinds, 0.1)) for kinds in (QUICK, ALL, ALL)]
    for thread in threads:
        thread.start()
    try:
        payload = {"rewards": [{"name": "a", "source": GRADE}]}
        server.state.calls.append(
            {"id": "call_9", "kind": "validate", "payload": payload, "deadline_seconds": 30}
        )
        wait_for(lambda: "call_9" in server.state.answers)
        assert server.state.answers["call_9"]["result"]["rewards"][0]["error"] is None
        assert set(server.state.answers) == {"call_9"}
        release.set()
        wait_for(lambda: len(server.state.answers) == 4)
        server.state.calls.append(
            {"id": "call_10", "kind": "validate", "payload": payload, "deadline_seconds": 30}
        )
        wait_for(lambda: "call_10" in server.state.answers)
    finally:
        release.set()
        worker.stop.set()
        for thread in threads:
            thread.join(10)


def test_a_worker_registers_again_when_the_backend_comes_back(
    server: StubWorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.backend_api.presence.RETRY_SECONDS", 0.05)
    server.state.away = True
    presence = Presence(WorkerApi(server.url, TOKEN), "wrk_1", "calls", "host", lambda: ("L", []))
    presence.start()
    try:
        server.state.away = False
        registered = wait_for(lambda: server.state.workers)[0]
        assert (registered["id"], registered["kind"], registered["jail"]) == ("wrk_1", "calls", "L")
    finally:
        presence.stop()
        presence.join(5)


def test_nothing_on_this_side_loads_the_training_stack() -> None:
    modules = (
        "worker.celery_app, worker.tasks, worker.rpc.server, worker.supervisor.supervisor, "
        "worker.models.inspect, worker.__main__"
    )
    check = (
        f"import sys, {modules}; print([m for m in ('torch', 'transformers', 'peft') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

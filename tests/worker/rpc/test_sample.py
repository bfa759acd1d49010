"""The RPC `sample` from the RPC worker to a toy serving process and back, over HTTP."""

import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from reinforge.schemas.rpc.events import DeltaEvent, DoneEvent
from reinforge.schemas.worker_api import CallMessage
from tests.support.hub_stub import COMMIT, HubStub, Repository
from tests.support.supervised import wait_for
from tests.support.worker_api_stub import TOKEN, StubWorkerApi
from worker.backend_api.blob_cache import BlobCache
from worker.backend_api.client import WorkerApi
from worker.models.sources import ModelStore
from worker.rpc.sample import Sampler, merged
from worker.rpc.server import QUICK, SAMPLING, CallWorker
from worker.serving_client.process import ServingProcess
from worker.starter import CHECKPOINT
from worker.training.checkpoint.archive import pack

TOY = """
import json, os, sys, threading, time
out = os.fdopen(3, "wb", buffering=0)
def say(**reply): out.write(json.dumps(reply).encode() + b"\\n")
def delta(text): return {"type": "delta", "prompt": 0, "sample": 0, "text": text}
cancelled = set()
def talk(request):
    id, words = request["id"], request["stop"]
    if words == ["describe"]:
        adapter = request["adapter_folder"]
        request["files"] = sorted(os.listdir(adapter)) if adapter else None
        say(id=id, events=[delta(json.dumps(request))])
    elif words == ["fail"]:
        return say(id=id, error={"message": "No.", "code": "model_load_failed", "hint": "Look."})
    elif words == ["die"]:
        os._exit(1)
    elif words == ["quiet"]:
        while id not in cancelled: time.sleep(0.01)
        return open(request["folder"] + "/../cancelled", "w").close()
    else:
        for number in range(int(words[0])):
            if id in cancelled: return open(request["folder"] + "/../cancelled", "w").close()
            say(id=id, events=[delta(f"{number} ")])
            time.sleep(0.002)
    say(id=id, ended=True)
for line in sys.stdin:
    message = json.loads(line)
    if "cancel" in message: cancelled.add(message["cancel"])
    else: threading.Thread(target=talk, args=(message["request"],)).start()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The starter model's tokenizer and configuration."""
    folder = tmp_path / "model"
    folder.mkdir()
    for file in CHECKPOINT.iterdir():
        (folder / file.name).symlink_to(file)
    return folder


@pytest.fixture
def worker(server: StubWorkerApi, tmp_path: Path) -> Iterator[CallWorker]:
    worker_api = WorkerApi(server.url, TOKEN)
    models = ModelStore(tmp_path / "models")
    serving = ServingProcess(command=(sys.executable, "-c", TOY))
    sampler = Sampler(
        worker_api, models, BlobCache(tmp_path / "blobs", worker_api.get_blob), tmp_path, serving
    )
    yield CallWorker(worker_api, "wrk_1", models, None, sampler)
    sampler.close()


def call(id: str, folder: Path, words: str, **fields: Any) -> CallMessage:
    payload = {
        "model": "starter",
        "model_source": str(folder),
        "prompts": [[{"role": "user", "content": "1+1="}]],
        "max_tokens": 9,
        "stop": [words],
    }
    return CallMessage(id=id, kind="sample", payload=payload | fields, deadline_seconds=30)


def events(server: StubWorkerApi, id: str) -> list[dict[str, Any]]:
    return [event for _, chunk in sorted(server.state.chunks[id].items()) for event in chunk]


def text_of(server: StubWorkerApi, id: str) -> str:
    return "".join(event["text"] for event in events(server, id) if event["type"] == "delta")


def test_events_arrive_in_order_in_few_posts(worker: CallWorker, server: StubWorkerApi, folder: Path) -> None:
    answer = worker.answer(call("a", folder, "300"))
    assert (answer.result, answer.error) == ({}, None)
    assert events(server, "a")[0] == {"type": "status", "message": "Starting the sampler"}
    assert text_of(server, "a").split() == [str(number) for number in range(300)]
    times = [at for _, count, at in server.state.posts if count]
    assert len(times) < 30 + 20 * (times[-1] - times[0])


def test_a_chunk_whose_answer_was_lost_is_sent_again_under_its_number(
    worker: CallWorker, server: StubWorkerApi, folder: Path
) -> None:
    server.state.forget_chunks = 3
    assert worker.answer(call("a", folder, "5")).error is None
    assert text_of(server, "a").split() == [str(number) for number in range(5)]


@pytest.mark.parametrize("words", ["100000", "quiet"])
def test_a_client_that_hangs_up_ends_the_sampling(
    worker: CallWorker, server: StubWorkerApi, folder: Path, words: str
) -> None:
    """Whether text comes just then or not."""

    def hang_up() -> None:
        wait_for(lambda: "a" in server.state.chunks)
        server.state.hung_up.add("a")

    threading.Thread(target=hang_up).start()
    error = worker.answer(call("a", folder, words)).error
    assert error is not None and error["code"] == "call_not_found"
    wait_for((folder.parent / "cancelled").exists)


def test_a_backend_that_stays_away_ends_the_sampling(
    worker: CallWorker, server: StubWorkerApi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.rpc.sample.AWAY_SECONDS", 0.3)

    def leave() -> None:
        wait_for(lambda: "a" in server.state.chunks)
        server.state.away = True

    threading.Thread(target=leave).start()
    error = worker.answer(call("a", folder, "100000")).error
    assert error is not None and error["code"] == "unavailable"
    wait_for((folder.parent / "cancelled").exists)


@pytest.mark.parametrize(("words", "code"), [("fail", "model_load_failed"), ("die", "serving_lost")])
def test_what_goes_wrong_there_is_the_answer(worker: CallWorker, folder: Path, words: str, code: str) -> None:
    error = worker.answer(call("a", folder, words)).error
    assert error is not None
    assert (error["code"], bool(error["hint"])) == (code, True)


def test_invalid_prompts_are_reported_before_anything_starts(
    worker: CallWorker, server: StubWorkerApi, folder: Path
) -> None:
    long = [[{"role": "user", "content": "1+1="}], [{"role": "user", "content": "9" * 600}]]
    for prompts, code, param in (
        (long, "context_overflow", "prompts[1]"),
        ([[]], "prompt_not_renderable", "prompts[0]"),
    ):
        error = worker.answer(call("a", folder, "5", prompts=prompts)).error
        assert error is not None
        assert (error["code"], error["param"], error["type"]) == (code, param, "invalid_request_error")
    assert server.state.chunks == {}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubStub]:
    """The starter model, whose download stops half-way until `hold` is set."""
    stub = HubStub()
    files = {file.name: file.read_bytes() for file in CHECKPOINT.iterdir()}
    stub.repositories["org/name"] = Repository(files, hold=threading.Event())
    monkeypatch.setenv("HF_ENDPOINT", stub.url)
    monkeypatch.setattr("worker.rpc.sample.REPORT_SECONDS", 0.05)
    yield stub
    stub.close()


def test_a_first_request_says_how_far_the_download_is(
    worker: CallWorker, server: StubWorkerApi, folder: Path, hub: HubStub
) -> None:
    """Silence would be taken for a worker that is gone."""
    hold = hub.repositories["org/name"].hold
    assert hold is not None

    def twice() -> bool:
        messages = (
            [event.get("message", "") for event in events(server, "a")] if "a" in server.state.chunks else []
        )
        return sum("Downloading the model: " in message for message in messages) > 1

    def let_go() -> None:
        wait_for(twice)
        hold.set()

    threading.Thread(target=let_go).start()
    answer = worker.answer(call("a", folder, "5", model_source="hub:org/name"))
    assert (answer.result, answer.error) == ({}, None)
    assert text_of(server, "a").split() == [str(number) for number in range(5)]


def test_a_download_that_nobody_waits_for_is_not_sampled_from(
    worker: CallWorker, server: StubWorkerApi, folder: Path, hub: HubStub
) -> None:
    assert worker.answer(call("before", folder, "5")).error is None  # the process runs
    server.state.hung_up.add("a")
    hold = hub.repositories["org/name"].hold
    assert hold is not None
    threading.Timer(0.5, hold.set).start()
    error = worker.answer(call("a", folder, "quiet", model_source="hub:org/name")).error
    assert error is not None and error["code"] == "call_not_found"
    # What was fetched stays: the next one needs no download.
    hub.away = True
    assert worker.answer(call("b", folder, "5", model_source=f"hub:org/name@{COMMIT}")).error is None
    assert not (folder.parent / "models" / "cancelled").exists(), "the process had the request"


def test_other_weights_than_those_added_are_refused(worker: CallWorker, folder: Path) -> None:
    error = worker.answer(call("a", folder, "5", model_sha256="0" * 64)).error
    assert error is not None and error["code"] == "model_changed"


def test_an_adapter_is_downloaded_once(worker: CallWorker, server: StubWorkerApi, folder: Path) -> None:
    archive = pack({"adapter_config.json": b"{}", "adapter_model.safetensors": b"weights"})
    sha256 = hashlib.sha256(archive).hexdigest()
    server.state.blobs[sha256] = archive
    adapter = {"sha256": sha256, "bytes": len(archive), "step": 3}
    for id in ("a", "b"):
        assert worker.answer(call(id, folder, "describe", adapter=adapter, max_tokens=4096)).error is None
        request = json.loads(text_of(server, id))
        assert request["files"] == ["adapter_config.json", "adapter_model.safetensors"]
        assert request["adapter"] in f"adapter-{sha256}"
        [prompt] = request["prompts"]
        assert len(prompt["ids"]) + prompt["max_tokens"] == 512  # what the context leaves
    messages = [event.get("message") for id in ("a", "b") for event in events(server, id)]
    assert messages.count("Fetching the adapter") == 1


def test_an_invalid_archive_is_reported(worker: CallWorker, server: StubWorkerApi, folder: Path) -> None:
    server.state.blobs[sha256 := hashlib.sha256(b"junk").hexdigest()] = b"junk"
    error = worker.answer(call("a", folder, "5", adapter={"sha256": sha256, "bytes": 4})).error
    assert error is not None and error["code"] == "adapter_damaged"


def test_sampling_holds_up_neither_other_calls_nor_other_sampling(
    worker: CallWorker, server: StubWorkerApi, folder: Path
) -> None:
    threads = [
        threading.Thread(target=worker.loop, args=(kinds, 0.1)) for kinds in (QUICK, SAMPLING, SAMPLING)
    ]
    for id, words in (("long", "quiet"), ("short", "5")):
        server.state.calls.append(call(id, folder, words).model_dump())
    payload = {"rewards": []}
    server.state.calls.append({"id": "v", "kind": "validate", "payload": payload, "deadline_seconds": 30})
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: {"short", "v"} <= set(server.state.answers))
        assert "long" not in server.state.answers
    finally:
        server.state.hung_up.add("long")
        worker.stop.set()
        for thread in threads:
            thread.join(20)


def test_pieces_of_one_completion_are_put_together() -> None:
    def delta(sample: int, text: str, tokens: int, logprobs: list[int]) -> DeltaEvent:
        entries = [{"token": number} for number in logprobs]
        return DeltaEvent(type="delta", prompt=0, sample=sample, text=text, tokens=tokens, logprobs=entries)

    done = DoneEvent(type="done", prompt=0, sample=0, text="abc", tokens=3, finish_reason="stop")
    first = delta(0, "a", 1, [1])
    rest = [delta(1, "x", 1, []), delta(0, "bc", 3, [2, 3]), done, delta(1, "y", 2, [4])]
    assert merged([first, *rest]) == [delta(0, "abc", 3, [1, 2, 3]), delta(1, "xy", 2, [4]), done]
    assert first == delta(0, "a", 1, [1])


def test_the_worker_checks_whether_a_client_waits(
    worker: CallWorker, server: StubWorkerApi, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.rpc.sample.ASK_SECONDS", 0.02)
    thread = threading.Thread(target=worker.answer, args=(call("a", folder, "quiet"),))
    thread.start()
    wait_for(lambda: sum(count == 0 for _, count, _ in server.state.posts) > 3)
    server.state.hung_up.add("a")
    thread.join(20)
    assert not thread.is_alive()


PICKY = "{% for m in messages %}{% if m.role in ('system', 'user') %}{{ m.content }}{% endif %}{% endfor %}"
TOOL = {"type": "function", "function": {"name": "add"}}


def rendered(worker: CallWorker, server: StubWorkerApi, folder: Path, template: str, **fields: Any) -> str:
    """The prompt that the serving process gets."""
    (folder / "chat_template.jinja").unlink()
    (folder / "chat_template.jinja").write_text(template)
    answer = worker.answer(call("told", folder, "describe", **fields))
    assert answer.error is None, answer.error
    [prompt] = json.loads(text_of(server, "told"))["prompts"]
    text: str = Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json")).decode(prompt["ids"])
    return text


def test_a_developers_message_is_the_systems_where_the_template_knows_no_developer(
    worker: CallWorker, server: StubWorkerApi, folder: Path
) -> None:
    messages = [{"role": "developer", "content": "12"}, {"role": "user", "content": "1+1="}]
    assert rendered(worker, server, folder, PICKY, prompts=[messages]).replace(" ", "") == "121+1="


def test_tools_stand_in_the_prompt_or_are_refused(
    worker: CallWorker, server: StubWorkerApi, folder: Path
) -> None:
    refused = worker.answer(call("a", folder, "describe", tools=[TOOL])).error
    assert refused is not None
    assert (refused["code"], refused["param"]) == ("tools_not_supported", "tools")
    template = "{% if tools %}{{ tools | length }}+{% endif %}" + PICKY
    assert rendered(worker, server, folder, template, tools=[TOOL]).replace(" ", "") == "1+1+1="


def test_the_tools_of_rows_stand_in_their_prompts_as_in_training(
    worker: CallWorker, server: StubWorkerApi, folder: Path
) -> None:
    assert (
        worker.answer(call("a", folder, "describe", row_tools=[[TOOL]])).error is None
    )  # no place: left out
    template = "{% if tools %}{{ tools | length }}+{% endif %}" + PICKY
    rows = [[TOOL, TOOL]]
    assert rendered(worker, server, folder, template, row_tools=rows).replace(" ", "") == "2+1+1="

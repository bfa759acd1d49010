"""The serving process's loop, in this process: events of each request, and their turns."""

import itertools
import queue
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.support.tiny_models import write_tiny_model
from worker.models.chat import renderer
from worker.policy.host import LocalHost
from worker.serving import held, server, transformers
from worker.serving.server import ServingServer
from worker.serving.transformers import TransformersServing
from worker.serving_client.protocol import Reply, SamplePrompt, ServingRequest
from worker.starter import CHECKPOINT


class Bench:
    """A server that is turned by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(server, "EVENTS_EVERY_SECONDS", 0.0)
        self.inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.replies: list[Reply] = []
        self.engine = TransformersServing()
        self.server = ServingServer(self.inbox, self.replies.append, self.engine)
        self.put = self.inbox.put

    def ask(self, id: str, folder: Path, texts: list[str], **fields: Any) -> ServingRequest:
        chat = renderer(folder)
        limit = fields.pop("max_tokens", 24)
        prompts = [
            SamplePrompt(ids=chat.encode(chat.render([{"role": "user", "content": text}])), max_tokens=limit)
            for text in texts
        ]
        request = ServingRequest(id=id, model=folder.name, folder=str(folder), prompts=prompts, **fields)
        self.put({"request": request.model_dump()})
        return request

    def run(self, *ids: str) -> None:
        """Until these requests have ended."""
        for _ in range(2000):
            if {reply.id for reply in self.replies if reply.ended or reply.error} >= set(ids):
                return
            self.server.turn()
        raise AssertionError(f"{ids} do not end")

    def events(self, id: str, kind: str | None = None) -> list[dict[str, Any]]:
        events = [event for reply in self.replies if reply.id == id for event in reply.events]
        return [event for event in events if kind in (None, event["type"])]

    def texts(self, id: str) -> dict[tuple[int, int], str]:
        return {(event["prompt"], event["sample"]): event["text"] for event in self.events(id, "done")}

    def error(self, id: str) -> dict[str, Any]:
        [error] = [reply.error for reply in self.replies if reply.id == id and reply.error]
        return error


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def write_adapter(base: Path, folder: Path, seed: int = 0) -> Path:
    """A LoRA adapter that changes what the model says."""
    torch.manual_seed(seed)
    config = LoraConfig(r=4, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    model.save_pretrained(folder)
    return folder


def generated(base: Path, adapter: Path | None, texts: list[str], limit: int) -> list[str]:
    """What transformers itself makes of the prompts, greedily."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base)
    if adapter is not None:
        model = PeftModel.from_pretrained(model, adapter)
    out = []
    for text in texts:
        ids = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=False,
        )
        made = model.generate(ids, max_new_tokens=limit, do_sample=False, pad_token_id=0)
        out.append(tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True))
    return out


TEXTS = ["12+30=", "7*8=", "100-1="]


def test_greedy_text_is_what_transformers_generates(bench: Bench, tmp_path: Path) -> None:
    adapter = write_adapter(CHECKPOINT, tmp_path / "adapter")
    bench.ask("base", CHECKPOINT, TEXTS, temperature=0.0)
    bench.ask("lora", CHECKPOINT, TEXTS, temperature=0.0, adapter="one", adapter_folder=str(adapter))
    bench.ask("again", CHECKPOINT, TEXTS, temperature=0.0)
    bench.run("base", "lora", "again")
    expected = generated(CHECKPOINT, None, TEXTS, 24)
    assert [bench.texts("base")[number, 0] for number in range(3)] == expected
    assert "<answer>42</answer>" in expected[0]
    changed = generated(CHECKPOINT, adapter, TEXTS, 24)
    assert [bench.texts("lora")[number, 0] for number in range(3)] == changed
    assert changed != expected
    assert bench.texts("again") == bench.texts("base")


def test_pieces_are_the_text_and_every_completion_ends_once(bench: Bench, tiny: Path) -> None:
    bench.ask("a", tiny, ["one", "two, longer"], samples_per_prompt=3)
    bench.run("a")
    texts = bench.texts("a")
    assert sorted(texts) == [(prompt, sample) for prompt in range(2) for sample in range(3)]
    for key, whole in texts.items():
        deltas = [event for event in bench.events("a", "delta") if (event["prompt"], event["sample"]) == key]
        assert "".join(delta["text"] for delta in deltas) == whole
    for done in bench.events("a", "done"):
        assert (done["finish_reason"], done["tokens"]) == ("length", 24) or done["finish_reason"] == "stop"
    assert bench.events("a", "status") == [{"type": "status", "message": f"Loading {tiny.name}"}]


def test_the_same_seed_gives_the_same_text_whoever_else_is_served(bench: Bench, tiny: Path) -> None:
    bench.ask("alone", tiny, ["x"], seed=5, samples_per_prompt=4)
    bench.run("alone")
    bench.ask("other", tiny, ["y", "z"], seed=6, samples_per_prompt=2)
    bench.ask("beside", tiny, ["x"], seed=5, samples_per_prompt=4)
    bench.ask("else", tiny, ["x"], seed=7, samples_per_prompt=4)
    bench.run("other", "beside", "else")
    assert bench.texts("beside") == bench.texts("alone") != bench.texts("else")
    assert len(set(bench.texts("alone").values())) > 1


def test_a_stop_text_ends_the_completion_before_it(bench: Bench) -> None:
    bench.ask("a", CHECKPOINT, TEXTS[:1], temperature=0.0, stop=["</ans", "zzz"])
    bench.run("a")
    [done] = bench.events("a", "done")
    assert (done["text"], done["finish_reason"]) == ("<answer>42", "stop")
    assert "".join(delta["text"] for delta in bench.events("a", "delta")) == "<answer>42"


def test_requests_take_turns(bench: Bench, tiny: Path, tmp_path: Path) -> None:
    """Base and adapter side by side: both go on, neither waits for the other's end."""
    adapter = write_adapter(tiny, tmp_path / "adapter")
    bench.ask("base", tiny, ["x"], seed=1, max_tokens=60, samples_per_prompt=4)
    bench.ask("lora", tiny, ["x"], seed=1, max_tokens=60, samples_per_prompt=4,
              adapter="one", adapter_folder=str(adapter))  # fmt: skip
    bench.run("base", "lora")
    order = [reply.id for reply in bench.replies if any(event["type"] == "delta" for event in reply.events)]
    switches = sum(before != after for before, after in itertools.pairwise(order))
    assert switches > 0.8 * len(order)
    assert bench.texts("base") != bench.texts("lora")


def test_a_cancelled_request_says_no_more(bench: Bench, tiny: Path) -> None:
    bench.ask("gone", tiny, ["x"], max_tokens=200, samples_per_prompt=16)
    bench.ask("stays", tiny, ["y"], max_tokens=30)
    for _ in range(5):
        bench.server.turn()
    bench.put({"cancel": "gone"})
    count = len(bench.events("gone"))
    bench.run("stays")
    assert count == len(bench.events("gone")) > 0
    assert "gone" not in {reply.id for reply in bench.replies if reply.ended}


def test_another_model_waits_for_its_turn(bench: Bench, tiny: Path, tmp_path: Path) -> None:
    other = write_tiny_model(tmp_path / "other", "llama")
    bench.ask("first", tiny, ["x"])
    bench.ask("second", other, ["x"])
    bench.ask("third", tiny, ["x"])
    bench.run("first", "second", "third")
    assert [reply.id for reply in bench.replies if reply.ended] == ["first", "second", "third"]
    statuses = [event["message"] for event in bench.events("second", "status")]
    assert statuses == ["Waiting until another model is done", "Loading other"]
    assert bench.texts("third") == bench.texts("first")


def test_few_adapters_stay_loaded_and_all_can_come_back(
    bench: Bench, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.server, "_engine", TransformersServing(adapters=2))
    folders = [write_adapter(tiny, tmp_path / str(number), seed=number) for number in range(3)]
    for number in (0, 1, 2, 1, 0):
        id = f"{number}-{len(bench.replies)}"
        bench.ask(id, tiny, ["x"], adapter=f"a{number}", adapter_folder=str(folders[number]), seed=3)
        bench.run(id)
    loads = [reply.id[0] for reply in bench.replies for event in reply.events
             if event.get("message") == "Loading the adapter"]  # fmt: skip
    assert loads == ["0", "1", "2", "0"]
    by_adapter: dict[str, set[str]] = {}
    for id in {reply.id for reply in bench.replies}:
        by_adapter.setdefault(id[0], set()).update(bench.texts(id).values())
    assert [len(texts) for texts in by_adapter.values()] == [1, 1, 1]


def test_what_cannot_be_loaded_is_an_error_and_the_next_request_is_served(
    bench: Bench, tiny: Path, tmp_path: Path
) -> None:
    broken = shutil.copytree(tiny, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"no weights")
    misfit = write_adapter(CHECKPOINT, tmp_path / "misfit")
    bench.ask("broken", broken, ["x"])
    bench.ask("misfit", tiny, ["x"], adapter="misfit", adapter_folder=str(misfit))
    bench.ask("fine", tiny, ["x"])
    bench.run("broken", "misfit", "fine")
    assert bench.error("broken")["code"] == "model_load_failed"
    assert bench.error("misfit")["code"] == "invalid_adapter"
    assert bench.texts("fine")


def test_where_an_adapter_finds_no_room_those_that_idle_go(
    bench: Bench, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [write_adapter(tiny, tmp_path / str(number), seed=number) for number in range(3)]
    load = LocalHost.load_adapter

    def two_fit(host: LocalHost, name: str, folder: Path) -> None:
        if len(getattr(host._peft, "peft_config", {})) == 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        load(host, name, folder)

    monkeypatch.setattr(LocalHost, "load_adapter", two_fit)
    for number in (0, 1, 2, 0):
        id = f"{number}-{len(bench.replies)}"
        bench.ask(id, tiny, ["x"], adapter=f"a{number}", adapter_folder=str(folders[number]), seed=3)
        bench.run(id)
    first, *_, last = [id for id in dict.fromkeys(reply.id for reply in bench.replies) if id.startswith("0")]
    assert bench.texts(first) == bench.texts(last) != {}
    messages = [
        event["message"] for reply in bench.replies for event in reply.events if event["type"] == "status"
    ]
    assert messages.count("Making room for the adapter") == 1


def test_a_request_without_prompts_loads_what_it_names(bench: Bench, tiny: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tiny, tmp_path / "adapter")
    bench.ask("warm", tiny, [], adapter="one", adapter_folder=str(adapter))
    bench.run("warm")
    bench.ask("a", tiny, ["x"], adapter="one", adapter_folder=str(adapter))
    bench.run("a")
    assert bench.events("a", "status") == []


def test_log_probabilities_are_those_of_the_models_own_forward_pass(bench: Bench) -> None:
    """Those of every sampled token, the end token included, at the temperature that it was sampled with."""
    request = bench.ask(
        "a", CHECKPOINT, TEXTS[:1], temperature=0.7, samples_per_prompt=3, seed=1, top_logprobs=3
    )
    bench.run("a")
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(CHECKPOINT),
        AutoTokenizer.from_pretrained(CHECKPOINT),
    )
    for done in bench.events("a", "done"):
        parts = [event for event in bench.events("a") if event.get("sample") == done["sample"]]
        entries = [entry for event in parts for entry in event["logprobs"]]
        assert len(entries) == done["tokens"]
        content = b"".join(bytes(entry["bytes"]) for entry in entries if entry["bytes"] is not None)
        assert content.decode() == done["text"]
        ids = [tokenizer.convert_tokens_to_ids(_raw(tokenizer, entry)) for entry in entries]
        prompt = request.prompts[0].ids
        with torch.inference_mode():
            logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1] / 0.7
        expected = torch.log_softmax(logits, -1)
        own = [float(expected[place, id]) for place, id in enumerate(ids)]
        assert [entry["logprob"] for entry in entries] == pytest.approx(own, abs=1e-4)
        for place, entry in enumerate(entries):
            best = expected[place].topk(3).values.tolist()
            assert [entry["logprob"] for entry in entry["top_logprobs"]] == pytest.approx(best, abs=1e-4)


def _raw(tokenizer: Any, entry: dict[str, Any]) -> str:
    """The vocabulary's own spelling of a token."""
    if entry["bytes"] is None:
        return str(entry["token"])
    [id] = tokenizer.encode(entry["token"], add_special_tokens=False)
    return str(tokenizer.convert_ids_to_tokens(id))


@pytest.mark.parametrize("place", ["load_with_tokenizer", "generation"])
def test_a_lack_of_memory_is_reported_and_ends_this_request_alone(
    bench: Bench, tiny: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def full(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    with monkeypatch.context() as patch:
        if place == "load_with_tokenizer":
            patch.setattr(held, "load_with_tokenizer", full)
        else:
            patch.setattr(transformers.Generation, "step", full)
        bench.ask("unlucky", tiny, ["x"])
        bench.run("unlucky")
    assert bench.error("unlucky")["code"] == "out_of_memory"
    assert bench.error("unlucky")["hint"]
    bench.ask("next", tiny, ["x"])
    bench.run("next")
    assert bench.texts("next")


def test_more_rows_than_the_cache_holds_are_sampled_in_several_batches(
    bench: Bench, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.ask("at once", tiny, ["x", "yy"], samples_per_prompt=3, temperature=0.0)
    bench.run("at once")
    limit: Callable[[Any], int] = lambda host: 80  # noqa: E731
    monkeypatch.setattr(transformers, "tokens_in_cache", limit)
    bench.ask("in parts", tiny, ["x", "yy"], samples_per_prompt=3, temperature=0.0)
    bench.run("in parts")
    assert bench.texts("in parts") == bench.texts("at once")
    assert len(bench.texts("in parts")) == 6

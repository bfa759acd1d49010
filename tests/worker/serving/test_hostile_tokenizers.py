"""Tokenizers of strangers while a model is sampled on demand: they cost their request, never the process."""

import json
import queue
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from tests.support.tiny_models import write_tiny_model
from worker.policy.load import load_base_model
from worker.rollout import folder_text
from worker.rollout.folder_text import FolderText
from worker.serving.grammar import SPACE, Grammar
from worker.serving.server import ServingServer
from worker.serving.transformers import TransformersServing
from worker.serving_client.protocol import Reply, SamplePrompt, ServingRequest
from worker.starter import CHECKPOINT

GROWING = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 8192}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "numbers": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city", "numbers"],
    "additionalProperties": False,
}


class Bench:
    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.replies: list[Reply] = []
        self.server = ServingServer(self.inbox, self.replies.append, TransformersServing())

    def sample(self, id: str, folder: Path, **fields: Any) -> dict[str, Any] | None:
        """The request's error, or None."""
        prompts = [SamplePrompt(ids=[5, 6, 7], max_tokens=8)]
        request = ServingRequest(id=id, model=folder.name, folder=str(folder), prompts=prompts, **fields)
        self.inbox.put({"request": request.model_dump()})
        while True:
            self.server.turn()
            for reply in self.replies:
                if reply.id == id and (reply.ended or reply.error):
                    return reply.error


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"))


def hostile(tiny: Path, folder: Path, **parts: Any) -> Path:
    shutil.copytree(tiny, folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | parts))
    return folder


def test_a_decoder_that_grows_ends_its_request_and_the_next_is_answered(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_text, "MEMORY_BYTES", 1 << 30)
    every_letter = {"type": "Replace", "pattern": {"Regex": "."}, "content": "a"}
    decoders = {"type": "Sequence", "decoders": [every_letter, *[GROWING] * 3]}
    bench = Bench()
    error = bench.sample("hostile", hostile(tiny, tmp_path / "hostile", decoder=decoders), stop=["x"])
    assert error is not None and error["code"] in ("model_too_demanding", "prompt_not_renderable")
    assert bench.sample("next", tiny, stop=["x"]) is None


def test_no_tokenizer_is_read_in_this_process(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("read in the serving process")

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", refuse)
    monkeypatch.setitem(sys.modules, "llguidance.hf", None)
    bench = Bench()
    fields: dict[str, Any] = {"stop": ["x"], "top_logprobs": 2, "json_schema": SCHEMA}
    assert bench.sample("a", tiny, **fields) is None


def test_a_librarys_panic_ends_its_request_alone(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As pyo3's, which is no Exception."""

    def panic(*_: Any) -> Any:
        raise Panic("index out of bounds")

    bench = Bench()
    with monkeypatch.context() as patch:
        patch.setattr("worker.serving.generation.Grammar", panic)
        error = bench.sample("hostile", tiny, json_schema=SCHEMA)
    assert error is not None and error["code"] == "sampling_failed" and "Panic" in error["message"]
    assert bench.sample("next", tiny) is None


def test_rows_are_decoded_at_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[int] = []
    decode = FolderText._decode

    def counted(self: FolderText, rows: Any, **options: Any) -> list[str]:
        requests.append(len(rows))
        return decode(self, rows, **options)

    monkeypatch.setattr(FolderText, "_decode", counted)
    assert Bench().sample("a", tiny, stop=["never"], samples_per_prompt=16, seed=3) is None
    assert len(requests) <= 2 * 9  # tokens of the longest completion, not those of all


def test_a_form_allows_the_tokens_that_the_library_allows() -> None:
    """The same masks at every token as with the tokenizer itself, along random completions."""
    import llguidance
    import llguidance.hf

    base, text = load_base_model(CHECKPOINT), FolderText(CHECKPOINT)
    width = base.model.config.get_text_config().vocab_size
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    tokens = llguidance.hf.from_tokenizer(
        tokenizer, n_vocab=max(width, len(tokenizer)), eos_token=list(base.stop_ids)
    )
    form = llguidance.LLMatcher.grammar_from_json_schema(
        json.dumps(SCHEMA), defaults={"whitespace_pattern": SPACE}
    )
    try:
        own = Grammar(SCHEMA, base, text)._matcher
        choose, checked = random.Random(1), 0
        for _ in range(20):
            here, there = own.deep_copy(), llguidance.LLMatcher(tokens, form, log_level=0)
            for _ in range(40):
                mask = there.compute_bitmask()
                assert here.compute_bitmask() == mask
                checked += 1
                token = choose.choice([id for id in range(width) if mask[id // 8] >> id % 8 & 1])
                here.consume_tokens([token])
                there.consume_tokens([token])
                if token in base.stop_ids:
                    break
        assert checked > 200
    finally:
        text.close()

"""The trainer's prompts and texts come from a limited process: the same ones, and hostile files end the job."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from reinforge.errors import JobFailure
from reinforge.spec import DataSpec
from tests.support.small_jobs import write_rows
from tests.support.tiny_models import write_tokenizer
from worker.models.rendering import ChatRenderer
from worker.rollout.text import Text
from worker.training.prompts.data import JobPrompts, load_prompts
from worker.training.prompts.model_texts import ModelTexts

TEXTS = ["1+1=", "é 😀 <end> ¿", "", "\ud800 half", "a" * 300]
LOOP = "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3
PANIC = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
GROWING = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 8192}


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[ModelTexts]:
    (tmp_path / "model").mkdir()
    write_tokenizer(tmp_path / "model", chat_template=True)
    texts = ModelTexts(tmp_path / "model")
    yield texts
    texts.close()


def prompts(folder: Path, texts: ModelTexts, rows: list[dict[str, Any]]) -> JobPrompts:
    path = write_rows(folder / "rows.jsonl", rows)
    return load_prompts(
        DataSpec(dataset="x", held_out_rows=0), path, None, renderer=texts, seed=3, max_tokens=1000
    )


def change_tokenizer(texts: ModelTexts, **parts: Any) -> None:
    path = texts.folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | parts))


@pytest.mark.parametrize("template", [True, False])
def test_prompts_ids_and_texts_are_those_of_the_library(tmp_path: Path, template: bool) -> None:
    write_tokenizer(tmp_path, chat_template=template)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    here, there = ChatRenderer(tokenizer), ModelTexts(tmp_path)
    there.load()
    try:
        assert there.takes_tools == here.takes_tools
        conversations = [([{"role": "user", "content": text}], None) for text in TEXTS[:3]] * 200
        assert there.render(conversations, 20) == here.render(conversations, 20)
        for text in TEXTS[:3]:
            ids = here.plain_ids(text)
            assert there.plain_ids(text) == ids
            assert there.pieces(ids) == Text(tokenizer).pieces(ids)
            assert there.completions([ids, ids[:2]]) == Text(tokenizer).completions([ids, ids[:2]])
    finally:
        there.close()


def test_the_notation_of_tool_calls_is_the_templates(texts: ModelTexts) -> None:
    assert texts.notation() is None, "its template writes no calls"
    template = (
        "{{ tools }}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}[TOOL_CALLS]{{ "
    )
    template += "c.function.name }}[ARGS]{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}"
    (texts.folder / "chat_template.jinja").write_text(template)
    changed = ModelTexts(texts.folder)
    assert changed.notation() == "mistral"
    changed.close()


def test_a_template_that_takes_memory_ends_the_job(tmp_path: Path, texts: ModelTexts) -> None:
    (texts.folder / "chat_template.jinja").write_text("{{ 'a'.ljust(9000000000) }}")
    texts.load()
    with pytest.raises(JobFailure, match=r"Row 1 cannot be a prompt: .*MemoryError") as caught:
        prompts(tmp_path, texts, [{"prompt": "?"}]).check()
    assert caught.value.code == "data_error"


def test_a_template_that_never_ends_ends_the_job(tmp_path: Path, texts: ModelTexts) -> None:
    (texts.folder / "chat_template.jinja").write_text(LOOP)
    texts.load()
    texts._apart._seconds = 0.5
    with pytest.raises(JobFailure, match="took too long") as caught:
        prompts(tmp_path, texts, [{"prompt": "?"}]).check()
    assert caught.value.code == "model_too_demanding" and "GiB" in caught.value.hint


def test_a_tokenizer_that_panics_ends_the_job(tmp_path: Path, texts: ModelTexts) -> None:
    change_tokenizer(texts, pre_tokenizer=PANIC)
    texts.load()
    with pytest.raises(JobFailure, match="PanicException"):
        prompts(tmp_path, texts, [{"prompt": "a" * 40 + "!"}]).check()


def test_ids_beyond_the_models_vocabulary_end_the_job(tmp_path: Path, texts: ModelTexts) -> None:
    texts.load()
    texts.vocabulary = 20
    with pytest.raises(
        JobFailure, match=r"Row 1 cannot be a prompt: it has token \d+, but the model has only 20 tokens"
    ):
        prompts(tmp_path, texts, [{"prompt": "?"}]).check()


def test_a_decoder_that_grows_ends_the_job(texts: ModelTexts) -> None:
    change_tokenizer(texts, decoder={"type": "Sequence", "decoders": [GROWING] * 3})
    texts.load()
    ids = texts.plain_ids("a")
    texts._apart._seconds = 1.0
    with pytest.raises(JobFailure) as caught:
        texts.completions([ids])
    assert caught.value.code in ("model_too_demanding", "prompt_not_renderable")


def test_a_child_that_the_kernel_ended_is_replaced(texts: ModelTexts) -> None:
    texts.load()
    ids = texts.plain_ids("abc")
    (child,) = texts._apart._idle
    child._process.kill()
    assert texts.completions([ids]) == ["abc"]


def test_files_that_are_no_tokenizer_end_the_job(texts: ModelTexts) -> None:
    (texts.folder / "tokenizer.json").write_text("[" * 100_000)
    with pytest.raises(JobFailure) as caught:
        texts.load()
    assert caught.value.code == "model_load_failed"

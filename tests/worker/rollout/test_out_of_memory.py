"""The in-process sampler without memory: what had not ended is sampled again in smaller batches, and becomes the same
completions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from reinforge.errors import JobFailure
from tests.support.short_memory import MESSAGE
from tests.worker.rollout.setups import Setup, generate
from worker.rollout import transformers_engine
from worker.rollout.decoding import DecodeBatch
from worker.rollout.engine import Generated


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for Python's collector."""
    monkeypatch.setattr(transformers_engine, "release", lambda device: None)


TEXTS = ["a", "somewhat longer", "mid size"]


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return Setup(tmp_path_factory.mktemp("model"), "qwen3")


@contextmanager
def short_of_memory(
    monkeypatch: pytest.MonkeyPatch, fails: Callable[[int, int], bool]
) -> Iterator[list[tuple[int, int]]]:
    """Batches of which `fails` says so, by their rows and the tokens sampled so far, run out of memory. Yields the rows
    of all batches and the tokens at which they failed, -1 where they did not."""
    batches: list[tuple[int, int]] = []
    begin, advance = DecodeBatch.__init__, DecodeBatch.advance

    def check(batch: DecodeBatch) -> None:
        rows = len(batch._reasons)
        if fails(rows, batch._step):
            batches[-1] = rows, batch._step
            raise torch.OutOfMemoryError(MESSAGE)

    def beginning(batch: DecodeBatch, *arguments: Any, **named: Any) -> None:
        begin(batch, *arguments, **named)
        batches.append((len(batch._reasons), -1))
        check(batch)

    def advancing(batch: DecodeBatch) -> None:
        advance(batch)
        check(batch)

    with monkeypatch.context() as patched:
        patched.setattr(DecodeBatch, "__init__", beginning)
        patched.setattr(DecodeBatch, "advance", advancing)
        yield batches


def same(actual: list[Generated], expected: list[Generated]) -> None:
    assert [answer.request.tag for answer in actual] == [answer.request.tag for answer in expected]
    for one, two in zip(actual, expected, strict=True):
        assert [sample.token_ids for sample in one.samples] == [sample.token_ids for sample in two.samples]
        for a, b in zip(one.samples, two.samples, strict=True):
            assert a.logprobs == pytest.approx(b.logprobs, abs=1e-5) and a.finish_reason == b.finish_reason


@pytest.mark.parametrize("at", [0, 1, 5])
@pytest.mark.parametrize("most", [11, 6, 3, 1])
def test_completions_are_the_same_in_smaller_batches(
    setup: Setup, at: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every completion once and in its place, whether the batch failed before its first token or behind some."""
    requests = setup.ask(TEXTS, n=4, stop_ids=tuple(range(1, 40)))
    expected = generate(setup.new_engine(), requests)
    engine, warnings = setup.new_engine(), list[str]()
    engine.warn = warnings.append
    with short_of_memory(monkeypatch, lambda rows, step: rows > most and step >= at) as batches:
        answers = generate(engine, requests)
        same(answers, expected)
        assert all(rows <= most for rows, failed in batches if failed < 0)
        assert 1 <= len(warnings) == sum(failed >= 0 for _, failed in batches) <= 4
        assert (
            "Out of memory while 12 rows" in warnings[0] and "an allocation of 2.00 GiB failed" in warnings[0]
        )
        before = len(warnings)
        same(generate(engine, requests), expected)
    assert len(warnings) == before, "what was learned is held to"


def test_what_was_answered_is_not_sampled_again(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = setup.ask(["x"], n=2, max_tokens=2), setup.ask(["x", "yy"], n=2, max_tokens=9)[1:]
    expected = generate(setup.new_engine(), [*short, *long])
    with short_of_memory(monkeypatch, lambda rows, step: rows > 1 and step == 6) as batches:
        same(generate(setup.new_engine(), [*short, *long]), expected)
    assert batches == [(2, 6), (1, -1), (1, -1), (2, -1)] or batches == [(2, -1), (2, 6), (1, -1), (1, -1)]


def test_one_row_that_does_not_fit_pauses_the_job(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = setup.new_engine()
    with (
        short_of_memory(monkeypatch, lambda rows, step: step == 3) as batches,
        pytest.raises(JobFailure) as ended,
    ):
        generate(engine, setup.ask(TEXTS, n=4))
    assert (ended.value.code, ended.value.retryable) == ("out_of_memory", True)
    assert "sampling one row of 27 tokens does not fit" in ended.value.message
    assert len(batches) <= 5
    assert len(generate(engine, setup.ask(TEXTS, n=4))) == 3, "with memory again it goes on"


def test_other_failures_are_not_retried(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(batch: DecodeBatch) -> None:
        raise RuntimeError("shapes")

    monkeypatch.setattr(DecodeBatch, "advance", fail)
    with pytest.raises(RuntimeError, match="shapes"):
        generate(setup.new_engine(), setup.ask(TEXTS))

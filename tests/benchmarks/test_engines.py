"""The engines' benchmark: its requests and its summary."""

from collections.abc import Iterator

import engines
import pytest
import torch
from engines import Bench, Sampled, Side, measure, picture, summary

from tests.support.tiny_models import write_tiny_model
from worker.rollout.transformers_engine import TransformersEngine


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    before = torch.get_num_threads()
    yield Bench(write_tiny_model(tmp_path_factory.mktemp("model")), ["1+1=", "20+3=", "4+4="], 5)
    torch.set_num_threads(before)


@pytest.mark.parametrize(("batch", "counts"), [(1, [1]), (4, [4]), (8, [8]), (32, [8, 8, 8, 8])])
def test_a_batch_is_completions_of_up_to_8_per_prompt(bench: Bench, batch: int, counts: list[int]) -> None:
    requests = bench.requests(batch)
    assert [request.n for request in requests] == counts
    assert len({(request.tag, request.noise) for request in requests}) == len(counts)
    assert {request.sampling.max_tokens for request in requests} == {5}
    assert {request.sampling.stop_ids for request in requests} == {()}


def test_every_sampling_is_of_another_version_that_does_something(bench: Bench) -> None:
    before = {name: tensor.clone() for name, tensor in bench.policy.state().adapter.items()}
    side = Side(TransformersEngine(bench.base.model, bench.text.raw, bench.host.sampling_as))
    version = bench.version
    sample = bench.sample(side, 16)
    assert bench.version == version + 1 and sample.tokens == 16 * 5
    moved = {
        name for name, tensor in bench.policy.state().adapter.items() if not (tensor == before[name]).all()
    }
    assert moved == {name for name in before if "lora_B" in name}


def test_without_vllm_one_side_is_measured(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "vllm_python", lambda: None)
    named_sides = measure(bench, (1, 2), 2)
    assert {
        name: {batch: len(runs) for batch, runs in side.runs.items()} for name, side in named_sides.items()
    } == {"transformers": {1: 2, 2: 2}}
    result = summary(named_sides)
    assert [batch["ratio"] for batch in result["batches"]] == [None, None]
    assert picture(result).count("<circle") == 2


def test_sides_are_summarised_by_medians_with_every_run(bench: Bench) -> None:
    def side(*seconds: float, sync: float) -> Side:
        return Side(
            TransformersEngine(bench.base.model, bench.text.raw, bench.host.sampling_as),
            {8: [Sampled(duration, sync, 400) for duration in seconds]},
        )

    result = summary({"transformers": side(4, 2, 1, sync=0.001), "vllm": side(0.5, 0.5, 8, sync=0.5)})
    (batch,) = result["batches"]
    assert batch == {"batch": 8, "tokens_per_s": {"transformers": 200, "vllm": 800}, "ratio": 4}
    assert result["sync_seconds"] == {"transformers": 0.001, "vllm": 0.5}
    assert [run["seconds"] for run in result["runs"]["vllm"]["8"]] == [0.5, 0.5, 8]
    assert picture(result).count("<circle") == 2

"""The in-process engine on tiny random models."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from tests.worker.rollout.setups import Setup, generate
from worker.policy.base import Sequences
from worker.policy.merged_weights import Active
from worker.rollout.engine import Generated
from worker.rollout.transformers_engine import TransformersEngine, cache_bytes_per_token, plan


@pytest.fixture(scope="module", params=["qwen3", "llama"])
def setup(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return Setup(tmp_path_factory.mktemp(request.param), request.param)


TEXTS = ["a", "somewhat longer", "äöü 日本", "mid size"]


def test_logprobs_agree_with_the_trainers(setup: Setup) -> None:
    """The gap between sampler and trainer, with prompts of different lengths and at a temperature."""
    answers = generate(setup.engine, setup.ask(TEXTS, n=4, max_tokens=30, temperature=0.7))
    pairs = [(answer.request.prompt_ids, sample) for answer in answers for sample in answer.samples]
    sequences = Sequences([prompt for prompt, _ in pairs], [sample.token_ids for _, sample in pairs], 0.7)
    scores = setup.policy.log_probs(sequences)
    for row, (_, sample) in enumerate(pairs):
        trainer = scores.logprobs[row, : len(sample.token_ids)]
        assert (trainer - torch.tensor(sample.logprobs)).abs().max() < 1e-4


def test_the_base_is_sampled_with_the_adapter_off(setup: Setup) -> None:
    requests = setup.ask(TEXTS, policy=None, temperature=0.0)
    answers = generate(setup.engine, requests)
    pairs = [(answer.request.prompt_ids, sample) for answer in answers for sample in answer.samples]
    sequences = Sequences([prompt for prompt, _ in pairs], [sample.token_ids for _, sample in pairs], 1.0)
    reference = setup.policy.reference_log_probs(sequences)
    tuned = setup.policy.log_probs(sequences).logprobs
    sampled = torch.tensor([sum(sample.logprobs) for _, sample in pairs])
    torch.testing.assert_close(reference.sum(1), sampled, atol=1e-3, rtol=0)
    assert (tuned.sum(1) - sampled).abs().max() > 0.1


def test_the_same_requests_give_the_same_bits(setup: Setup) -> None:
    requests = setup.ask(TEXTS)
    first, second = ([answer.samples for answer in generate(setup.new_engine(), requests)] for _ in range(2))
    assert first == second


def test_noise_belongs_to_step_prompt_and_sample(setup: Setup) -> None:
    same = generate(setup.engine, setup.ask(["same", "same"], max_tokens=20))
    other_step = generate(setup.engine, setup.ask(["same", "same"], step=2, max_tokens=20))
    texts = [sample.token_ids for answer in (*same, *other_step) for sample in answer.samples]
    assert len(set(texts)) == len(texts)


def test_a_completion_does_not_depend_on_its_neighbours(setup: Setup) -> None:
    """Alone, in a crowd, in one batch or in many: the same tokens, log-probabilities up to rounding."""
    requests = setup.ask(TEXTS, n=5)
    crowd = generate(setup.engine, requests)
    small = setup.new_engine(cache_bytes=60 * cache_bytes_per_token(setup.base.model))
    for tag in range(4):
        alone = generate(setup.engine, [requests[tag]])[0].samples
        split = next(answer for answer in generate(small, requests) if answer.request.tag == tag).samples
        for one, two, three in zip(crowd[tag].samples, alone, split, strict=True):
            assert one.token_ids == two.token_ids == three.token_ids
            torch.testing.assert_close(
                torch.tensor([one.logprobs, two.logprobs]),
                torch.tensor([two.logprobs, three.logprobs]),
                atol=1e-5,
                rtol=0,
            )


def test_completions_end_with_a_stop_id_or_at_the_limit(setup: Setup) -> None:
    answers = generate(setup.engine, setup.ask(TEXTS, n=16, stop_ids=tuple(range(1, 60))))
    samples = [sample for answer in answers for sample in answer.samples]
    assert {sample.finish_reason for sample in samples} == {"stop", "length"}
    for sample in samples:
        stops = [token in range(1, 60) for token in sample.token_ids]
        assert not any(stops[:-1])
        assert stops[-1] == (sample.finish_reason == "stop")
        assert stops[-1] or len(sample.token_ids) == 12
        assert len(sample.logprobs) == len(sample.token_ids)


def test_a_stop_text_ends_a_completion_and_stays_in_it(setup: Setup) -> None:
    free = generate(setup.engine, setup.ask(["x"], n=1, max_tokens=30))[0].samples[0]
    text = setup.tokenizer.decode(free.token_ids[8:10])
    stopped = generate(setup.engine, setup.ask(["x"], n=1, max_tokens=30, stop=(text,)))[0].samples[0]
    assert stopped.finish_reason == "stop"
    assert len(stopped.token_ids) <= 10
    assert stopped.token_ids == free.token_ids[: len(stopped.token_ids)]
    assert text in setup.tokenizer.decode(stopped.token_ids)


def test_cancelled_requests_return_what_they_have(setup: Setup) -> None:
    async def run() -> list[Generated]:
        answers = []
        asyncio.get_running_loop().call_later(0.05, setup.engine.cancel)
        async for answer in setup.engine.generate(setup.ask(["endless"], n=2, max_tokens=5000, stop_ids=())):
            answers.append(answer)
        return answers

    (answer,) = asyncio.run(run())
    assert [sample.finish_reason for sample in answer.samples] == ["cancelled"] * 2
    assert 0 < len(answer.samples[0].token_ids) < 5000
    assert generate(setup.engine, setup.ask(["next"], n=1))[0].samples[0].finish_reason != "cancelled"


def test_groups_stream_as_they_finish(setup: Setup) -> None:
    async def run() -> list[int]:
        first = setup.ask(["short"], n=2, max_tokens=2, stop_ids=())
        second = setup.ask(["long prompt"], n=2, max_tokens=40, stop_ids=())
        order = []
        async for answer in setup.engine.generate([*second, *first]):
            order.append(answer.request.sampling.max_tokens)
        return order

    assert sorted(asyncio.run(run())) == [2, 40]


def test_a_version_that_the_engine_does_not_hold_is_refused(setup: Setup) -> None:
    engine = setup.new_engine()
    asyncio.run(engine.publish("policy", 1))
    with pytest.raises(ValueError, match="requested policy version 0, but the engine has 1"):
        generate(engine, setup.ask(["x"]))


def test_batches_fit_the_cache_and_keep_every_sample(setup: Setup) -> None:
    requests = setup.ask(["a", "b" * 20, "c" * 5], n=5)
    batches = plan(requests, 70)
    for parts in batches:
        widest = max(len(part.request.prompt_ids) + 12 for part in parts)
        assert sum(part.count for part in parts) * widest <= 70
    samples = sorted(
        (part.request.tag, part.first + k) for parts in batches for part in parts for k in range(part.count)
    )
    assert samples == [(tag, sample) for tag in range(3) for sample in range(5)]


def test_a_row_larger_than_the_cache_is_still_sampled(setup: Setup) -> None:
    assert [part.count for parts in plan(setup.ask(["abc"], n=2), 3) for part in parts] == [1, 1]


def test_sampling_adds_the_adapter_to_copies_and_leaves_the_weights_alone(setup: Setup) -> None:
    model = setup.base.model
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    kinds = [type(module) for module in model.modules()]
    requests = setup.ask(["one", "three"])
    quick = generate(setup.engine, requests)
    assert [type(module) for module in model.modules()] == kinds
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())

    @contextmanager
    def plainly(policy: str | None) -> Iterator[Active]:
        yield lambda: setup.host.activate(policy)

    plain = TransformersEngine(model, setup.text.raw, plainly)
    asyncio.run(plain.publish("policy", 0))
    for one, other in zip(quick, generate(plain, requests), strict=True):
        assert [s.token_ids for s in one.samples] == [s.token_ids for s in other.samples]
        for a, b in zip(one.samples, other.samples, strict=True):
            assert a.logprobs == pytest.approx(b.logprobs, abs=2e-5)


def test_an_abandoned_batch_leaves_the_adapter_in_its_place(setup: Setup) -> None:
    async def first() -> None:
        answers = setup.engine.generate(setup.ask(["one", "two"], n=1))
        async for _ in answers:
            break
        await answers.aclose()

    before = setup.policy.log_probs(Sequences([[5, 6]], [[7, 8]], 1.0)).logprobs
    asyncio.run(first())
    assert torch.equal(setup.policy.log_probs(Sequences([[5, 6]], [[7, 8]], 1.0)).logprobs, before)

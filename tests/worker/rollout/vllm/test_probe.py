"""The probe of a server at the start of an attempt: agreement passes, anything else is a named end."""

from collections.abc import Callable, Sequence

import pytest
import torch

from reinforge.errors import JobFailure
from tests.support.vllm_bench import Bench, Trainer
from worker.policy.base import Sequences
from worker.rollout.vllm.api import Api
from worker.rollout.vllm.options import BASE
from worker.rollout.vllm.probe import AdapterProbe
from worker.trainer.vllm_engine import scorer
from worker.training.job_end import end_of

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]  # a start takes minutes on a busy machine
PROMPTS = ["12+34=", "7+8="]
Look = Callable[..., bool]


@pytest.fixture
def api(bench: Bench, trainer: Trainer) -> Api:
    """Of a server that holds version 50, which is what the trainer has."""
    trainer.move(50)
    bench.publish(50)
    assert bench.server.api is not None
    return bench.server.api


def probe(
    trainer: Trainer,
    messages: list[str],
    policy: Callable[[Sequences], torch.Tensor] | None = None,
    *,
    exact: bool = True,
) -> AdapterProbe:
    ours = policy or (lambda sequences: trainer.policy.log_probs(sequences).logprobs)
    base = scorer(trainer.policy.reference_log_probs)
    return AdapterProbe(scorer(ours), base, exact=exact, notify=messages.append, warn=messages.append)


def look(probe: AdapterProbe, bench: Bench, trainer: Trainer, api: Api, names: Sequence[str]) -> bool:
    return bench.run(probe.look(api, trainer.ask(PROMPTS, version=50), names))


def name(bench: Bench) -> str:
    return bench.engine._adapters.held[-1].name


@pytest.mark.parametrize("exact", [True, False])
def test_agreement_is_reported_once(bench: Bench, trainer: Trainer, api: Api, exact: bool) -> None:
    messages: list[str] = []
    bench.engine._probe = probe(trainer, messages, exact=exact)
    bench.generate(trainer.ask(PROMPTS, version=50))
    bench.generate(trainer.ask(PROMPTS, version=50))
    assert bench.engine._probe is None and len(messages) == 1
    assert messages[0].startswith("vLLM and the trainer agree about the policy")


@pytest.mark.parametrize("exact", [True, False])
def test_a_server_with_another_policy_ends_the_job(
    bench: Bench, trainer: Trainer, api: Api, exact: bool
) -> None:
    trainer.move(51)  # and not published
    bench.engine._probe = probe(trainer, [], exact=exact)
    try:
        with pytest.raises(JobFailure) as caught:
            for _ in range(1 if exact else 4):  # the third look is the fourth call's
                bench.generate(trainer.ask(PROMPTS, version=50))
    finally:
        bench.engine._probe = None
    end = end_of(caught.value)
    assert (end.outcome, end.reason) == ("failed", "sampler_mismatch") and "nats" not in (end.hint or "")
    assert bench.generate(trainer.ask(["1+1="], version=50))  # the server has done nothing wrong


def test_in_bfloat16_a_server_that_leaves_the_adapter_out_ends_the_job(
    bench: Bench, trainer: Trainer, api: Api
) -> None:
    with pytest.raises(JobFailure) as caught:
        look(probe(trainer, [], exact=False), bench, trainer, api, [BASE, BASE])
    assert end_of(caught.value).reason == "adapter_not_applied"


def test_in_bfloat16_more_than_rounding_is_a_warning(bench: Bench, trainer: Trainer, api: Api) -> None:
    def rounded_otherwise(sequences: Sequences) -> torch.Tensor:
        return trainer.policy.log_probs(sequences).logprobs + 0.1

    messages: list[str] = []
    other = probe(trainer, messages, rounded_otherwise, exact=False)
    look(other, bench, trainer, api, [name(bench)] * 2)
    look(other, bench, trainer, api, [name(bench)] * 2)
    assert (
        messages[0].startswith("vLLM and the trainer differ more than rounding explains")
        and len(messages) == 1
    )


def test_in_bfloat16_a_too_small_update_is_probed_less_and_less(
    bench: Bench, trainer: Trainer, api: Api
) -> None:
    messages: list[str] = []
    scored = 0

    def unmoved(sequences: Sequences) -> torch.Tensor:
        nonlocal scored
        scored += 1
        return trainer.policy.reference_log_probs(sequences)

    small = probe(trainer, messages, unmoved, exact=False)
    assert not any(look(small, bench, trainer, api, [BASE, BASE]) for _ in range(7))
    assert scored == 2 * 3 and len(messages) == 1  # looks 1, 2 and 4


def test_a_server_that_leaves_the_adapter_out_ends_the_job(bench: Bench, trainer: Trainer, api: Api) -> None:
    """The first update moves little: the base model's answers are within the tolerance."""

    def moved_a_little(sequences: Sequences) -> torch.Tensor:
        return trainer.policy.reference_log_probs(sequences) + 5e-4

    with pytest.raises(JobFailure) as caught:
        look(probe(trainer, [], moved_a_little), bench, trainer, api, [BASE, BASE])
    assert end_of(caught.value).reason == "adapter_not_applied"


def test_a_too_small_update_is_probed_again(bench: Bench, trainer: Trainer, api: Api) -> None:
    unmoved = probe(trainer, [], trainer.policy.reference_log_probs)
    assert look(unmoved, bench, trainer, api, [BASE, BASE]) is False
    assert look(probe(trainer, []), bench, trainer, api, [name(bench)] * 2) is True

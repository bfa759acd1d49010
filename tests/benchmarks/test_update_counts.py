"""Counts of an update, and the gain of its fast paths."""

from collections.abc import Iterator

import pytest
import torch
from update_counts import ARMS, Arm, Launches, counted_batch, launches, make, measure, total, with_arm

BEFORE, AFTER = Arm(False, False, "prompt_once"), ARMS["adapters beside, packed"]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_operations_that_touch_elements_are_counted() -> None:
    with Launches() as counter:
        x = torch.ones(4)
        x.view(2, 2).t().add(1)
        with Launches.as_one("kernel"):
            x + x + x
    assert dict(counter.by_name) == {"ones": 1, "add": 1, "kernel": 1}


@pytest.mark.long
def test_each_further_layer_launches_as_much() -> None:
    counts = [launches(layers, counted_batch(), AFTER)[0] for layers in (1, 2, 3)]
    assert counts[2] - counts[1] == counts[1] - counts[0]


def test_a_packed_update_launches_and_keeps_little() -> None:
    result = measure(shapes={"tiny": (64, 128, 4, 2, 4)})
    counts = result["launches"]
    before = counts["PEFT's layers, a prompt once per group"]
    after = counts["adapters beside, packed"]
    assert (before["micro_batches"], after["micro_batches"]) == (4, 1)
    assert after["launches"] <= 7_000 < 40_000 < before["launches"]
    assert result["kept_bytes_per_token"]["tiny"]["ratio"] <= 0.7


def test_the_stand_in_for_the_kernel_has_the_gradients_of_the_loop() -> None:
    """So that what is counted is the pass that a GPU would run."""
    policy, batch = make((64, 128, 4, 2), 2), counted_batch()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in (*policy._model.parameters(), *policy.trained.list):
            tensor.copy_(0.1 * torch.randn(tensor.shape, generator=generator))
    gradients = []
    for layout in ("padded", "packed"):
        with with_arm(policy, Arm(True, True, layout)):
            policy.forward_backward(batch, total)
        gradients.append(torch.cat([p.grad.flatten() for p in policy.trained.list if p.grad is not None]))
        policy._optimizer.zero_grad(set_to_none=True)
    assert torch.nn.functional.cosine_similarity(gradients[0], gradients[1], dim=0) > 0.999

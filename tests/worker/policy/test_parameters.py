"""Parameters with their optimizer: gradients added up, and copies that are whole."""

import torch
from safetensors.torch import load, save

from worker.policy.parameters import TrainedParameters, in_one_copy, on_cpu


def test_gradients_are_added_parameter_by_parameter() -> None:
    parameters = {
        name: torch.nn.Parameter(torch.zeros(size)) for name, size in (("a", 2), ("b", 3), ("c", 1))
    }
    trained = TrainedParameters(parameters)
    trained.add([torch.ones(2), None, torch.full((1,), 3.0)])
    trained.add([torch.full((2,), 2.0), torch.ones(3), None])
    trained.add([])
    gradients = {name: p.grad for name, p in parameters.items()}
    assert {k: None if g is None else g.tolist() for k, g in gradients.items()} == {
        "a": [3.0, 3.0],
        "b": [1.0, 1.0, 1.0],
        "c": [3.0],
    }


def test_one_copy_has_all_tensors_and_can_be_saved() -> None:
    tensors = {"a": torch.randn(3, 4), "step": torch.tensor(7.0), "b": torch.randn(5)}
    copied = in_one_copy(tensors)
    assert all(torch.equal(copied[key], tensor) for key, tensor in tensors.items())
    assert all(torch.equal(load(save(copied))[key], tensor) for key, tensor in tensors.items())
    tensors["a"].zero_()
    assert copied["a"].any()


def test_copies_do_not_change_with_the_parameters() -> None:
    tensors = {"a": torch.ones(2), "b": torch.ones(2, dtype=torch.float64)}
    copied = on_cpu(tensors)
    tensors["a"].zero_()
    assert copied["a"].tolist() == [1.0, 1.0] and copied["b"].dtype == torch.float64
    assert on_cpu({}) == {}

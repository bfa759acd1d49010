"""Trained parameters of an adapter or a critic, with their AdamW optimizer."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


class TrainedParameters:
    def __init__(self, parameters: dict[str, torch.nn.Parameter]) -> None:
        self.parameters = parameters
        self.list = list(parameters.values())
        # An adapter's many small tensors take longest to visit one by one.
        self.optimizer = torch.optim.AdamW(self.list, fused=True)

    def add(self, gradients: Sequence[Tensor | None]) -> None:
        into, more = [], []
        for parameter, gradient in zip(self.list, gradients, strict=False):
            if gradient is not None and parameter.grad is not None:
                into.append(parameter.grad)
                more.append(gradient)
            elif gradient is not None:
                parameter.grad = gradient
        if into:
            torch._foreach_add_(into, more)

    def step(
        self,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        clip_norm: float,
    ) -> float:
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters.values(), clip_norm))
        if torch.isfinite(torch.tensor(norm)):
            for group in self.optimizer.param_groups:
                group.update(lr=learning_rate, betas=betas, eps=eps, weight_decay=weight_decay)
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    def weights(self) -> dict[str, Tensor]:
        return on_cpu(self.parameters)

    def flat_weights(self) -> Tensor:
        """All weights in one vector on the CPU."""
        return torch.cat([parameter.detach().flatten() for parameter in self.list]).cpu()

    def put_flat(self, weights: Tensor) -> None:
        parts = torch.split(weights, [parameter.numel() for parameter in self.list])
        with torch.no_grad():
            for parameter, part in zip(self.list, parts, strict=True):
                parameter.copy_(part.view(parameter.shape))

    def flat_gradients(self) -> Tensor:
        """All gradients in one vector on the CPU; then for each parameter 1 if it has one, else 0."""
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.list]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        present = torch.tensor([float(p.grad is not None) for p in self.list])
        return torch.cat([flat.cpu(), present.to(flat.dtype)])

    def put_flat_gradients(self, gradients: Tensor) -> None:
        sizes = [parameter.numel() for parameter in self.list]
        *parts, present = torch.split(gradients, [*sizes, len(sizes)])
        for parameter, part, ranks in zip(self.list, parts, present.tolist(), strict=True):
            parameter.grad = part.view(parameter.shape).to(parameter) if ranks else None

    def moments(self) -> dict[str, Tensor]:
        return on_cpu(
            {
                f"{key}|{part}": value
                for key, parameter in self.parameters.items()
                for part, value in self.optimizer.state.get(parameter, {}).items()
            }
        )

    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Replace the weights. Raises KeyError or RuntimeError if they belong to other parameters."""
        with torch.no_grad():
            for key, parameter in self.parameters.items():
                parameter.copy_(weights[key])

    def load(self, weights: Mapping[str, Tensor], moments: Mapping[str, Tensor]) -> None:
        self.put(weights)
        self.optimizer.state.clear()
        for name, value in moments.items():
            key, part = name.rsplit("|", 1)
            parameter = self.parameters[key]
            self.optimizer.state[parameter][part] = value.to(parameter.device).clone()

    @property
    def bytes(self) -> int:
        return 4 * sum(parameter.nbytes for parameter in self.parameters.values())


def on_cpu(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU; tensors of one dtype leave a GPU in one transfer."""
    kinds = {(tensor.device, tensor.dtype) for tensor in tensors.values()}
    if len(kinds) != 1 or next(iter(kinds))[0].type == "cpu":
        return {key: tensor.detach().cpu().clone() for key, tensor in tensors.items()}
    return in_one_copy(tensors)


def in_one_copy(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    flat = torch.cat([tensor.detach().flatten() for tensor in tensors.values()]).cpu()
    parts = torch.split(flat, [tensor.numel() for tensor in tensors.values()])
    return {key: part.view(tensor.shape) for (key, tensor), part in zip(tensors.items(), parts, strict=True)}

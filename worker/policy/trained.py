"""Parameters by name with their AdamW: what an adapter, or a critic, trains."""

from collections.abc import Mapping

import torch
from torch import Tensor


class Trained:
    """`parameters` keep their order: it is that of the gradient's norm."""

    def __init__(self, parameters: dict[str, torch.nn.Parameter]) -> None:
        self.parameters = parameters
        self.list = list(parameters.values())
        # On the CPU an adapter's many small tensors take longest to visit one by one.
        on_cpu = all(parameter.device.type == "cpu" for parameter in self.list)
        self.optimizer = torch.optim.AdamW(self.list, fused=on_cpu or None)

    def step(
        self,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        clip_norm: float,
    ) -> float:
        """As `Policy.optimizer_step`."""
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters.values(), clip_norm))
        if torch.isfinite(torch.tensor(norm)):
            for group in self.optimizer.param_groups:
                group.update(lr=learning_rate, betas=betas, eps=eps, weight_decay=weight_decay)
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return norm

    def weights(self) -> dict[str, Tensor]:
        """Copies on the CPU."""
        return {key: parameter.detach().cpu().clone() for key, parameter in self.parameters.items()}

    def moments(self) -> dict[str, Tensor]:
        """The optimizer's state by `<parameter>|<part>`, copies on the CPU."""
        found = {}
        for key, parameter in self.parameters.items():
            for part, value in self.optimizer.state.get(parameter, {}).items():
                found[f"{key}|{part}"] = value.detach().cpu().clone()
        return found

    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Raises KeyError or RuntimeError where they are of other parameters."""
        with torch.no_grad():
            for key, parameter in self.parameters.items():
                parameter.copy_(weights[key])

    def load(self, weights: Mapping[str, Tensor], moments: Mapping[str, Tensor]) -> None:
        """Raises as `put`."""
        self.put(weights)
        self.optimizer.state.clear()
        for name, value in moments.items():
            key, part = name.rsplit("|", 1)
            parameter = self.parameters[key]
            # AdamW keeps its step count on the CPU, whatever the parameter's device.
            device = value.device if part == "step" else parameter.device
            self.optimizer.state[parameter][part] = value.to(device).clone()

    @property
    def bytes(self) -> int:
        """Of weights, gradients and AdamW's two moments, each as large as the weights."""
        return 4 * sum(parameter.nbytes for parameter in self.parameters.values())

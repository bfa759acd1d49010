"""Selects the layers that get an adapter. In a mixture of experts, `all-linear` means attention's linear layers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from transformers.pytorch_utils import Conv1D

from reinforge.errors import JobFailure

ALL = "all-linear"
EXPERTS = "experts"


@dataclass(frozen=True, slots=True)
class LoraTargets:
    modules: str | list[str]
    parameters: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Experts:
    blocks: set[str] = field(default_factory=set)
    """Names of feed-forward blocks with experts, such as `mlp`."""
    stacks: set[str] = field(default_factory=set)
    routers: set[str] = field(default_factory=set)


def find_experts(model: torch.nn.Module) -> Experts:
    """Find stacked weights of experts (three-dimensional parameters with a common first dimension) and their
    routers, (experts, hidden).
    """
    experts = Experts()
    for path, block in model.named_modules():
        for name, container in block.named_children():
            stacks, count = _stacks(container)
            beside = {child: _rows(module) for child, module in block.named_children() if child != name}
            if count == 0 or count not in beside.values():
                continue
            last = _last(path)
            whole = f"{last}.{name}"
            if last.isdigit():
                whole = name
            else:
                experts.blocks.add(last)
            experts.stacks |= {f"{whole}.{parameter}" for parameter in stacks}
            for child in (child for child, rows in beside.items() if rows in (1, count)):
                inner = _linear_in(block.get_submodule(child))
                experts.routers |= {
                    ".".join(filter(None, (path, child, inner_path))) for inner_path in ("", *inner)
                }
    return experts


class Layers:
    def __init__(self, model: torch.nn.Module) -> None:
        self._experts = find_experts(model)
        self._outside = _outside(model, self._experts)

    def resolve(self, targets: str | Sequence[str]) -> LoraTargets:
        """Modules and parameters of the targets. Raises JobFailure `invalid_adapter` for a router."""
        experts = self._experts
        if not experts.stacks:
            return LoraTargets(targets if isinstance(targets, str) else list(targets))
        if isinstance(targets, str):
            return LoraTargets(self._outside)
        modules, parameters = list[str](), set[str]()
        for name in targets:
            self._refuse_router(name)
            stacks = [
                stack
                for stack in experts.stacks
                if name == EXPERTS or (f".{stack}".endswith(f".{name}") and name not in self._outside)
            ]
            parameters.update(stacks)
            modules += [] if stacks else [name]
        return LoraTargets(modules, sorted(parameters))

    def _refuse_router(self, name: str) -> None:
        suffix = "." + name.removesuffix(".weight")
        if any(f".{router}".endswith(suffix) for router in self._experts.routers):
            raise JobFailure(
                f"adapter.targets: {name} decides which experts compute a token, and gets no adapter: trainer and "
                "sampler would send tokens to different experts.",
                code="invalid_adapter",
                hint=f'Leave it out. "{ALL}" adapts attention, "{EXPERTS}" in a list all experts.',
            )


def _outside(model: torch.nn.Module, experts: Experts) -> list[str]:
    get_head = getattr(model, "get_output_embeddings", None)
    head = None if get_head is None else get_head()
    paths = [path for path in _linear_in(model) if model.get_submodule(path) is not head]
    outside = [
        path for path in paths if experts.blocks.isdisjoint(path.split(".")) and path not in experts.routers
    ]
    inside = {_last(path) for path in paths if path not in outside}
    return sorted({path if _last(path) in inside else _last(path) for path in outside})


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _linear_in(module: torch.nn.Module) -> list[str]:
    return [
        path for path, submodule in module.named_modules() if isinstance(submodule, torch.nn.Linear | Conv1D)
    ]


def _stacks(container: torch.nn.Module) -> tuple[list[str], int]:
    shapes = {name: p.shape for name, p in container.named_parameters(recurse=False) if p.dim() == 3}
    counts = {shape[0] for shape in shapes.values()}
    return (list(shapes), int(counts.pop())) if len(shapes) >= 2 and len(counts) == 1 else ([], 0)


def _rows(module: torch.nn.Module) -> int:
    own = getattr(module, "weight", None)
    matrices = [own] if isinstance(own, torch.Tensor) else [p for p in module.parameters() if p.dim() > 1]
    return int(matrices[0].shape[0]) if len(matrices) == 1 and matrices[0].dim() == 2 else 0

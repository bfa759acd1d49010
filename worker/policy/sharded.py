"""Base models whose decoder layers are divided among ranks (FSDP2): each rank holds a part of every matrix, and a pass
gathers one layer at a time. Every pass is collective: all ranks run equally many, in the same order.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor
from transformers import PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer

from reinforge.errors import JobFailure
from worker.machine.memory import is_out_of_memory


class ShardedWeight:
    """Weight of a linear layer (O, I) that is whole only while its decoder layer computes."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        self._layer = layer
        self.dtype = layer.weight.dtype

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(x, self.dense(), bias)

    def dense(self) -> Tensor:
        return self._layer.weight.detach()


def is_sharded(tensor: Tensor) -> bool:
    return isinstance(tensor, DTensor)


def own_part(tensor: Tensor) -> Tensor:
    """This rank's part of a sharded tensor; other tensors as they are."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def largest_of_ranks(value: float) -> float:
    """The largest of all ranks' values; each rank calls it."""
    largest = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    return float(largest)


def shard(model: PreTrainedModel, device: torch.device, dtype: torch.dtype) -> None:
    """Divide the matrices of all decoder layers among the ranks, and move the rest to the device, layer by layer: the
    device never holds more than one whole layer. Embeddings, output layer, norms and biases stay whole on each rank.

    Raises JobFailure `sharding_unsupported`.
    """
    decoder, layers = model.get_decoder(), sharded_layers(model)
    if decoder is model or not layers:
        raise _unsupported(model, "its decoder layers are not apart from the rest")
    mesh = DeviceMesh.from_group(dist.group.WORLD, device.type)  # type: ignore[arg-type]
    model.requires_grad_(False)
    for layer in layers:
        _widen(layer.parameters(), dtype)
        small = {parameter for parameter in layer.parameters() if parameter.dim() < 2}
        _copy_to(device, [*small, *layer.buffers()])
        try:
            fully_shard(layer, mesh=mesh, reshard_after_forward=True, ignored_params=small)
        except Exception as error:
            # A stranger's layer can be refused in any way.
            if is_out_of_memory(error):
                raise
            lines = str(error).strip().splitlines()
            raise _unsupported(model, lines[0][:300] if lines else repr(error)) from error
    rest = [parameter for parameter in model.parameters() if not is_sharded(parameter)]
    inside = {id(tensor) for layer in layers for tensor in (*layer.parameters(), *layer.buffers())}
    outside = [tensor for tensor in (*rest, *model.buffers()) if id(tensor) not in inside]
    _widen((parameter for parameter in rest if id(parameter) not in inside), dtype)
    _copy_to(device, outside)
    model.config.dtype = model.dtype
    # The common root: layers are gathered before they are needed.
    fully_shard(decoder, mesh=mesh, ignored_params=set(rest))


def sharded_layers(model: PreTrainedModel) -> list[torch.nn.Module]:
    return [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]


def share_in_words(model: torch.nn.Module, ranks: int) -> str:
    weights = [parameter for key, parameter in model.named_parameters() if "lora_" not in key]
    held, everything = sum(own_part(p).nbytes for p in weights), sum(p.nbytes for p in weights)
    whole = sum(p.nbytes for p in weights if not is_sharded(p))
    return (
        f"The base model's layers are divided among {ranks} ranks: each holds {held / 2**30:.3g} of "
        f"{everything / 2**30:.3g} GiB, {whole / 2**30:.3g} GiB of it embeddings, output layer and norms, which are "
        "not divided"
    )


@contextmanager
def whole(layer: torch.nn.Module) -> Iterator[None]:
    """Context in which a sharded layer is whole; each rank enters it."""
    assert isinstance(layer, FSDPModule)
    layer.unshard()
    try:
        yield
    finally:
        layer.reshard()


def _widen(parameters: Iterable[Tensor], dtype: torch.dtype) -> None:
    for parameter in parameters:
        if parameter.dtype != dtype and torch.promote_types(parameter.dtype, dtype) == dtype:
            parameter.data = parameter.data.to(dtype)


def _copy_to(device: torch.device, tensors: Iterable[Tensor]) -> None:
    """Move tensors to the device; on the CPU copy them, because they are the model's file, mapped."""
    for tensor in tensors:
        tensor.data = tensor.data.to(device, copy=True)


def _unsupported(model: PreTrainedModel, why: str) -> JobFailure:
    return JobFailure(
        f"The base model {type(model).__name__} cannot be divided among ranks: {why}.",
        code="sharding_unsupported",
        hint="Start the job again without base.sharded, on GPUs that each hold the base model.",
    )

"""Host in this process: one transformers model with LoRA adapters by PEFT."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import Linear as LoraLinear
from safetensors import SafetensorError
from torch import Tensor

from reinforge.errors import JobFailure
from worker.machine.memory import is_out_of_memory
from worker.policy.critic import LoraCritic
from worker.policy.forward.activations import GradientPasses
from worker.policy.forward.fused_layers import fuse
from worker.policy.forward.threads import MicroBatchThreads
from worker.policy.load import LoadedModel
from worker.policy.lora import LoraPolicy, held_base_bytes
from worker.policy.merged_weights import Active, merged
from worker.policy.nf4 import bitsandbytes, is_nf4, parameter_count
from worker.policy.sharded import largest_of_ranks, sharded_layers, whole
from worker.policy.targets import Layers

MICRO_BATCH_TOKENS = {"cpu": 2048, "cuda": 32768}
"""Most tokens of a pass, with padding. On the CPU, activations of more tokens do not fit into its caches."""


class LocalHost:
    def __init__(self, base: LoadedModel, threads: int = 1, *, ranks: int = 1) -> None:
        """ranks: number of ranks of the job; on a CPU they share the machine's memory."""
        self.base = base
        self._sharers = ranks if base.model.device.type == "cpu" else 1
        # Passes of a sharded base are collective, and their order is the same on all ranks.
        self.threads = MicroBatchThreads(1 if base.sharded else threads)
        self._layers = Layers(base.model)
        self._fused = _fused(base) if base.model.device.type == "cuda" else {}
        self._peft: PeftModel | None = None

    def create_policy(
        self, name: str, *, rank: int, alpha: float, targets: str | list[str], seed: int
    ) -> LoraPolicy:
        """Create an adapter that starts equal to the base model: matrix A random, B zero. Raises JobFailure
        `invalid_adapter` if PEFT refuses the targets.
        """
        peft = self._add(name, rank=rank, alpha=alpha, targets=targets, seed=seed)
        return LoraPolicy(
            name,
            peft,
            activate=self.activate,
            split=self._head(),
            passes=self._passes(),
            threads=self.threads,
        )

    def create_critic(
        self, name: str, *, rank: int, alpha: float, targets: str | list[str], seed: int
    ) -> LoraCritic:
        """Like `create_policy`, for a critic. Without a policy, the base model's memory counts as the
        critic's.
        """
        alone = self._peft is None
        peft = self._add(name, rank=rank, alpha=alpha, targets=targets, seed=seed)
        return LoraCritic(
            name,
            peft,
            activate=self.activate,
            passes=self._passes(),
            base_bytes=held_base_bytes(self.base.model) if alone else 0,
        )

    def sampling_copy(self, policy: LoraPolicy) -> "SamplingCopy":
        """Copy of `policy` over the same base weights, for use while `policy` is trained."""
        assert self._peft is not None
        adapters = {id(p) for key, p in self._peft.named_parameters() if "lora_" in key}
        tensors = [*self._peft.parameters(), *self._peft.buffers()]
        peft = deepcopy(self._peft, {id(t): t for t in tensors if id(t) not in adapters})
        host = copy(self)
        host._peft, host.threads = peft, MicroBatchThreads()
        model: Any = peft.get_base_model()
        host.base = replace(self.base, model=model)
        copied = LoraPolicy(
            policy.name, peft, activate=host.activate, split=host._head(), passes=host._passes()
        )
        return SamplingCopy(host, copied, policy)

    def _passes(self) -> GradientPasses:
        device = self.base.model.device
        return GradientPasses(
            self.base.model,
            device,
            MICRO_BATCH_TOKENS[device.type],
            parallel=self.threads.count * self._sharers,
            largest_of_ranks=largest_of_ranks if self.base.sharded else None,
        )

    def _add(self, name: str, *, rank: int, alpha: float, targets: str | list[str], seed: int) -> PeftModel:
        resolved = self._layers.resolve(targets)
        config = LoraConfig(
            r=rank,
            lora_alpha=alpha,
            lora_dropout=0.0,
            target_modules=resolved.modules,
            target_parameters=resolved.parameters or None,
            bias="none",
            task_type="CAUSAL_LM",
        )
        if any(is_nf4(parameter) for parameter in self.base.model.parameters()):
            # PEFT's own layers for bitsandbytes would keep more for the backward pass.
            config._register_custom_module({bitsandbytes().nn.Linear4bit: LoraLinear})
        torch.manual_seed(seed)
        try:
            if self._peft is None:
                self._peft = get_peft_model(self.base.model, config, adapter_name=name)
            else:
                self._peft.add_adapter(name, config)
        except ValueError as error:
            raise JobFailure(
                f"LoRA cannot be put on this model: {error}",
                code="invalid_adapter",
                hint='Name modules that the model has in adapter.targets, or use "all-linear".',
            ) from error
        self._peft.eval()
        return self._peft

    def load_adapter(self, name: str, folder: Path) -> None:
        try:
            if self._peft is None:
                self._peft = PeftModel.from_pretrained(self.base.model, folder, adapter_name=name)
            else:
                self._peft.load_adapter(folder, adapter_name=name)
        except (ValueError, RuntimeError, KeyError, TypeError, OSError, SafetensorError) as error:
            if is_out_of_memory(error):
                raise
            raise JobFailure(
                f"The adapter does not fit this model: {str(error).strip().splitlines()[0][:500]}",
                code="invalid_adapter",
                hint="It has to be a LoRA adapter made for these very weights.",
            ) from error
        self._peft.eval()

    def drop_adapter(self, name: str) -> None:
        assert self._peft is not None
        self._peft.delete_adapter(name)

    @contextmanager
    def activate(self, policy: str | None) -> Iterator[None]:
        if self._peft is None:
            if policy is not None:
                raise KeyError(policy)
            yield
        elif policy is None:
            with self._peft.disable_adapter():
                yield
        else:
            if self._peft.active_adapters != [policy]:
                self._peft.set_adapter(policy)
            yield

    @contextmanager
    def sampling_as(self, policy: str | None) -> Iterator[Active]:
        """Yields a function that creates contexts in which the model computes as this policy without
        gradient.
        """
        if self._peft is None or policy is None:
            yield lambda: self.activate(policy)
            return
        with merged(self._peft, policy) as active:

            @contextmanager
            def both() -> Iterator[None]:
                with self.activate(policy), active():
                    yield

            yield both

    @property
    def facts(self) -> dict[str, Any]:
        model = self.base.model
        device = model.device
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
        named = list(model.named_parameters())
        return {
            "architecture": model.config.architectures[0]
            if model.config.architectures
            else type(model).__name__,
            "parameters": sum(parameter_count(p) for key, p in named if "lora_" not in key),
            "adapter_layers": self._adapted(),
            "trainable_parameters": sum(p.numel() for _, p in named if p.requires_grad),
            "device": name,
            "precision": _precision(model),
            "context_length": self.base.context_length,
            "torch_threads": torch.get_num_threads(),
            "lanes": self.threads.count,
            "fused": self._fused,
        }

    def _adapted(self) -> list[str]:
        if self._peft is None:
            return []
        config = list(self._peft.peft_config.values())[-1]
        modules = config.target_modules or []
        return sorted(
            {*([modules] if isinstance(modules, str) else modules), *(config.target_parameters or [])}
        )

    def _head(self) -> Callable[[Tensor], Tensor] | None:
        """The output layer if logits are exactly `head(decoder(ids))`, else None: some architectures scale logits
        afterwards.
        """
        model = self.base.model
        head = model.get_output_embeddings()
        decoder = model.get_decoder()
        if head is None or decoder is model:
            return None
        ids = torch.arange(4, device=model.device)[None, :] % model.config.get_text_config().vocab_size
        # Inference mode would make the gathered layers of a sharded model unusable elsewhere.
        with torch.no_grad():
            expected = model(input_ids=ids, use_cache=False).logits
            actual = head(decoder(input_ids=ids, use_cache=False).last_hidden_state)
        return head if torch.equal(actual, expected) else None


@dataclass(frozen=True, slots=True)
class SamplingCopy:
    host: LocalHost
    policy: LoraPolicy
    original: LoraPolicy

    def refresh(self) -> None:
        self.policy.load_weights(self.original.weights())


def _fused(base: LoadedModel) -> dict[str, int]:
    if not base.sharded:
        return fuse(base.model)
    counts = Counter[str]()
    for layer in sharded_layers(base.model):
        with whole(layer):
            counts.update(fuse(layer))
    return dict(counts)


def _precision(model: torch.nn.Module) -> str:
    dtype = str(model.dtype).removeprefix("torch.")
    return f"nf4, computed in {dtype}" if any(is_nf4(p) for p in model.parameters()) else dtype

"""TRL's own `GRPOTrainer` without a model: the smallest object whose advantage and loss code runs on given tensors.

Nothing of TRL's is repeated here. Log-probabilities and entropies come from where its forward pass would be, rewards
and completions from where its sampling would be; everything else that its methods read is TRL's default.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from trl import GRPOConfig, GRPOTrainer, RLOOTrainer

DEFAULTS = {part.name: part.default for part in fields(GRPOConfig)}


class OneProcess(SimpleNamespace):
    """The parts of `accelerate.Accelerator` that the methods use."""

    num_processes, process_index, is_main_process, sync_gradients = 1, 0, True, True
    device = torch.device("cpu")

    def gather(self, tensor: Tensor) -> Tensor:
        return tensor

    def reduce(self, tensor: Tensor, reduction: str = "sum") -> Tensor:
        return tensor

    def pad_across_processes(self, tensor: Tensor, **_: Any) -> Tensor:
        return tensor

    def unwrap_model(self, model: Any) -> Any:
        return model


class TrlCode(GRPOTrainer):  # type: ignore[misc]
    """`options` are `GRPOConfig`'s, and `loss_type` among them; vLLM is on when its correction is asked for."""

    def __init__(self, *, groups_of: int = 2, corrected: bool = False, **options: Any) -> None:
        chosen = DEFAULTS | options
        self.args = SimpleNamespace(
            **(chosen | {"steps_per_generation": 1, "per_device_train_batch_size": 1, "report_to": []})
        )
        for name in (
            "beta",
            "delta",
            "loss_type",
            "importance_sampling_level",
            "max_completion_length",
            "multi_objective_aggregation",
            "num_iterations",
            "off_policy_mask_threshold",
            "scale_rewards",
            "top_entropy_quantile",
            "entropy_coef",
            "use_adaptive_entropy",
            "mask_truncated_completions",
            "vllm_importance_sampling_mode",
            "vllm_importance_sampling_clip_min",
            "vllm_importance_sampling_clip_max",
        ):
            setattr(self, name, chosen[name])
        self.pad_to_multiple_of = None
        self.epsilon_low = chosen["epsilon"]
        high = chosen["epsilon_high"]
        self.epsilon_high = self.epsilon_low if high is None else high
        self._entropy_bonus_enabled = self.entropy_coef != 0.0 or self.use_adaptive_entropy
        self._last_world_entropy = float("inf")
        self._entropy_window_stats = None
        self.use_vllm = self.vllm_importance_sampling_correction = corrected
        self.accelerator = OneProcess()
        self.model = SimpleNamespace(training=True, is_gradient_checkpointing=False)
        self.ref_model = SimpleNamespace()
        self.aux_loss_enabled = False
        self.current_gradient_accumulation_steps = 1
        self.num_generations = groups_of
        self.environment_factories = self.environments = self.tools = None
        self._tokenizer = SimpleNamespace(pad_token_id=0)
        self.reward_funcs: list[Any] = []
        self.reward_func_names: list[str] = []
        self.log_multimodal = False
        self._metrics: Any = {"train": defaultdict(list)}
        self._logs: Any = defaultdict(list, {"rewards": defaultdict(list), "extra": defaultdict(list)})
        self._pending_extra_logs: dict[str, Any] = {}
        self._pending_metrics: dict[str, Any] = {}
        self._forward: list[tuple[Tensor, Tensor | None, None]] = []

    def _get_per_token_logps_and_entropies(self, *_: Any, **__: Any) -> Any:
        return self._forward.pop(0)

    def loss(
        self,
        logprobs: Tensor,
        mask: Tensor,
        advantages: Tensor,
        *,
        entropies: Tensor | None = None,
        **more: Any,
    ) -> Tensor:
        """`_compute_loss` on one batch; `more` are its inputs under TRL's names. Log-probabilities (N, T) and, where
        given, entropies carry gradient."""
        self._forward = [(logprobs, torch.zeros_like(logprobs) if entropies is None else entropies, None)]
        rows, width = mask.shape
        inputs = {
            "prompt_ids": torch.ones((rows, 1), dtype=torch.long),
            "prompt_mask": torch.ones((rows, 1), dtype=torch.long),
            "completion_ids": torch.ones((rows, width), dtype=torch.long),
            "completion_mask": mask.long(),
            "advantages": advantages,
            "num_items_in_batch": mask.sum(),
        }
        return self._compute_loss(self.model, inputs | more)

    def score(
        self,
        rewards: Tensor,
        *,
        weights: Sequence[float] | None = None,
        lengths: Sequence[int] | None = None,
        old_logprobs: Tensor | None = None,
        sampler_logprobs: Tensor | None = None,
        reference_logprobs: Tensor | None = None,
    ) -> dict[str, Any]:
        """`_generate_and_score_completions` on (N, K) rewards (NaN for none) of groups one after another: its
        `advantages`, and with the correction on its `importance_sampling_ratio`."""
        rows, functions = rewards.shape
        lengths = list(lengths or [1] * rows)
        self.reward_weights = torch.tensor(weights or [1.0] * functions, dtype=rewards.dtype)
        self.reward_func_names = [f"reward_{number}" for number in range(functions)]
        self.reward_funcs = list(self.reward_func_names)
        sampled = None
        if sampler_logprobs is not None:
            sampled = [sampler_logprobs[row, :length].tolist() for row, length in enumerate(lengths)]
        completions = [[1] * length for length in lengths]
        drawn = ([[1]] * rows, completions, None, [""] * rows, sampled, {}, None, None)
        self._generate = lambda prompts: drawn
        self._calculate_rewards = lambda *_: rewards.clone()
        tensors = (old_logprobs, reference_logprobs)
        self._forward = [(tensor, None, None) for tensor in tensors if tensor is not None]
        return dict(self._generate_and_score_completions([{"prompt": ""}] * rows))


class TrlRlooCode(RLOOTrainer):  # type: ignore[misc]
    """TRL's RLOO loss on given tensors: a clipped ratio of whole completions."""

    def __init__(self, *, epsilon_low: float, epsilon_high: float) -> None:
        self.args = SimpleNamespace(report_to=[])
        self.epsilon_low, self.epsilon_high = epsilon_low, epsilon_high
        self.accelerator = OneProcess()
        self.model = SimpleNamespace(training=True)
        self.aux_loss_enabled = False
        self._metrics: Any = {"train": defaultdict(list)}
        self._logprobs = torch.zeros(())

    def _get_per_token_logps_and_entropies(self, *_: Any, **__: Any) -> Any:
        return self._logprobs, torch.zeros_like(self._logprobs), None

    def loss(self, logprobs: Tensor, mask: Tensor, advantages: Tensor, old_logprobs: Tensor) -> Tensor:
        """`_compute_loss` on one batch; `old_logprobs` (N, T) are summed per row as its sampling would."""
        self._logprobs = logprobs
        ones = torch.ones((len(mask), 1), dtype=torch.long)
        inputs = {
            "prompt_ids": ones,
            "prompt_mask": ones,
            "completion_ids": torch.ones(mask.shape, dtype=torch.long),
            "completion_mask": mask.long(),
            "advantages": advantages,
            "old_logps": (old_logprobs * mask).sum(1),
        }
        return self._compute_loss(self.model, inputs)

"""Loads reward checkpoints, and keeps the most recently used in memory."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    PreTrainedModel,
)

from worker.machine.torch_device import compute_device
from worker.reward_models.texts import CheckpointTexts

MAX_CHECKPOINTS = 4


class ModelLoadFailed(Exception):
    pass


class LoadedRewardModel:
    def __init__(
        self, model: PreTrainedModel, texts: CheckpointTexts, pad_ids: tuple[int | None, int]
    ) -> None:
        self.model, self.texts, self.pad_ids = model, texts, pad_ids
        if model.config.get_text_config().pad_token_id is None:
            model.config.get_text_config().pad_token_id = pad_ids[0]

    @property
    def device(self) -> torch.device:
        model_device: torch.device = next(self.model.parameters()).device
        return model_device

    @property
    def longest(self) -> int | None:
        value = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return int(value) if value else None


class Shelf:
    """The `MAX_CHECKPOINTS` most recently used checkpoints. Its methods raise ModelLoadFailed,
    GpuUnavailable, TextFailed.
    """

    def __init__(self) -> None:
        self._loaded: OrderedDict[tuple[str, str], LoadedRewardModel] = OrderedDict()

    def classifier(self, path: str) -> LoadedRewardModel:
        return self._get(("classifier", path), AutoModelForSequenceClassification.from_pretrained)

    def language_model(self, path: str) -> LoadedRewardModel:
        return self._get(("language_model", path), AutoModelForCausalLM.from_pretrained)

    def _get(self, key: tuple[str, str], load: Callable[..., Any]) -> LoadedRewardModel:
        if key not in self._loaded:
            self._loaded[key] = _load(Path(key[1]), load)
        self._loaded.move_to_end(key)
        while len(self._loaded) > MAX_CHECKPOINTS:
            _, oldest = self._loaded.popitem(last=False)
            oldest.texts.close()
        return self._loaded[key]


def _load(path: Path, load: Callable[..., Any]) -> LoadedRewardModel:
    for name in ("config.json", "tokenizer.json"):
        if not (path / name).is_file():
            raise ModelLoadFailed(f"{path} has no {name}")
    texts = CheckpointTexts(path)
    try:
        pad_ids = texts.load()
        return LoadedRewardModel(_model(path, load), texts, pad_ids)
    except BaseException:
        texts.close()
        raise


def _model(path: Path, load: Callable[..., Any]) -> PreTrainedModel:
    device = compute_device()
    try:
        model, loading = load(
            path,
            dtype=torch.bfloat16 if device.type == "cuda" else torch.float32,
            device_map={"": device} if device.type == "cuda" else None,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # an untrusted configuration can raise anything in the library
        lines = str(error).strip().splitlines()
        raise ModelLoadFailed(
            f"{path} cannot be loaded: {lines[0][:500] if lines else repr(error)}"
        ) from error
    if missing := sorted(loading["missing_keys"]):
        # transformers would initialise them at random: an untrained head.
        raise ModelLoadFailed(f"{path} lacks {len(missing)} weights, the first is {missing[0]}")
    ready: PreTrainedModel = model.eval().requires_grad_(False)
    return ready

"""Checkpoints for rewards: loaded once, kept while they are used."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
)

KEPT = 4


class LoadFailed(Exception):
    """The checkpoint cannot be used; says why."""


class Loaded:
    """A model in evaluation mode, with its tokenizer; truncation takes the beginning of a text away."""

    def __init__(self, model: PreTrainedModel, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        tokenizer.truncation_side = "left"
        # Rows end at the same place: what is read is the last token of each.
        tokenizer.padding_side = "right"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        if model.config.get_text_config().pad_token_id is None:
            model.config.get_text_config().pad_token_id = tokenizer.pad_token_id

    @property
    def device(self) -> torch.device:
        found: torch.device = next(self.model.parameters()).device
        return found

    @property
    def longest(self) -> int | None:
        """Tokens that fit."""
        value = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return int(value) if value else None


class Shelf:
    """The newest `KEPT` checkpoints."""

    def __init__(self) -> None:
        self._loaded: OrderedDict[tuple[str, str], Loaded] = OrderedDict()

    def classifier(self, path: str) -> Loaded:
        """With a classification head. Raises LoadFailed."""
        return self._get(("classifier", path), AutoModelForSequenceClassification.from_pretrained)

    def language_model(self, path: str) -> Loaded:
        """Raises LoadFailed."""
        return self._get(("language_model", path), AutoModelForCausalLM.from_pretrained)

    def _get(self, key: tuple[str, str], load: Callable[..., Any]) -> Loaded:
        if key not in self._loaded:
            self._loaded[key] = _load(Path(key[1]), load)
        self._loaded.move_to_end(key)
        while len(self._loaded) > KEPT:
            self._loaded.popitem(last=False)
        return self._loaded[key]


def _load(path: Path, load: Callable[..., Any]) -> Loaded:
    for name in ("config.json", "tokenizer.json"):
        if not (path / name).is_file():
            raise LoadFailed(f"{path} has no {name}")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        model, loading = load(
            path,
            dtype=torch.bfloat16 if device.type == "cuda" else torch.float32,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # a stranger's configuration can fail anywhere in the library, in any way
        lines = str(error).strip().splitlines()
        raise LoadFailed(f"{path} cannot be loaded: {lines[0][:500] if lines else repr(error)}") from error
    if missing := sorted(loading["missing_keys"]):
        # transformers would go on with random numbers in their place: a head that was never trained.
        raise LoadFailed(f"{path} lacks {len(missing)} weights, the first is {missing[0]}")
    return Loaded(model.to(device).eval().requires_grad_(False), tokenizer)

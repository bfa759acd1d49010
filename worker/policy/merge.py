"""`python -m worker.policy.merge BASE ADAPTER OUT`: writes a model folder with the adapter merged into its
base model.

Computes in float32 and casts each weight to the base model's precision. Prints facts as JSON.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.utils.logging import disable_progress_bar

from reinforge.base_models.adapter_config import CONFIG, read_adapter_config
from reinforge.errors import InvalidInput, ReinforgeError

COPIED = ("tokenizer*", "*.jinja", "*.txt", "special_tokens_map.json", "added_tokens.json", "generation_config.json",
          "LICENSE*", "NOTICE*")  # fmt: skip
"""Files copied from the base model beside its weights and configuration."""
SEQUENCES, TOKENS = 4, 32
"""Number and length of the random sequences on which log-probabilities are compared."""


def merge(base: Path, adapter: Path, out: Path) -> dict[str, Any]:
    """Write the merged model to the new folder `out`. Raises InvalidInput if the adapter does not fit.

    Returns its precision and `largest_difference`: of log-probabilities (nats), between the base model with
    the unmerged adapter in float32 and the merged model.
    """
    read_adapter_config((adapter / CONFIG).read_bytes())
    try:
        model = AutoModelForCausalLM.from_pretrained(
            base, dtype="auto", use_safetensors=True, local_files_only=True, trust_remote_code=False
        )
        precisions = {name: parameter.dtype for name, parameter in model.named_parameters()}
        model = model.float().eval()
        beside = PeftModel.from_pretrained(model, str(adapter)).eval()
    except (ValueError, RuntimeError, KeyError, TypeError, OSError, SafetensorError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:500]
        raise InvalidInput(
            f"The adapter cannot be merged: {first}",
            code="merge_failed",
            hint="It has to be a LoRA adapter made for the very weights of this base model.",
        ) from error
    tokens = _random_tokens(model)
    expected = _logprobs(beside, tokens)
    merged: PreTrainedModel = beside.merge_and_unload(safe_merge=True)
    for name, parameter in merged.named_parameters():
        parameter.data = parameter.data.to(precisions[name])
    difference = (_logprobs(merged, tokens) - expected).abs().max().item()
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    merged.save_pretrained(partial)
    for pattern in COPIED:
        for path in base.glob(pattern):
            if path.is_file():
                shutil.copyfile(path, partial / path.name)
    partial.rename(out)
    precision = {str(value).removeprefix("torch.") for value in precisions.values()}
    return {"precision": sorted(precision), "largest_difference": difference}


def _random_tokens(model: PreTrainedModel) -> Tensor:
    vocabulary = model.get_input_embeddings().num_embeddings
    return torch.randint(vocabulary, (SEQUENCES, TOKENS), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def _logprobs(model: torch.nn.Module, tokens: Tensor) -> Tensor:
    """Log-probabilities (N, T - 1) of every token but the first."""
    logits = model(input_ids=tokens).logits[:, :-1].float()
    chosen: Tensor = logits.log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m worker.policy.merge", description="Merge an adapter.")
    for name in ("base", "adapter", "out"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    disable_progress_bar()
    try:
        facts = merge(arguments.base, arguments.adapter, arguments.out)
    except ReinforgeError as error:
        facts = {"error": error.message, "code": error.code, "hint": error.hint}
    sys.stdout.write(json.dumps(facts) + "\n")
    return 1 if "error" in facts else 0


if __name__ == "__main__":
    sys.exit(main())

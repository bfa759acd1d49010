"""`python -m worker.starter.tools --out DIR`: train and write starter-tools."""

import argparse
import json
from pathlib import Path

import torch
from transformers import GenerationConfig, PreTrainedModel

from worker.starter.pretrain import HIDDEN, PretrainPhase
from worker.starter.tokenizer import END_ID, PAD_ID
from worker.starter.tools.card import write_card
from worker.starter.tools.pretrain import PHASES, pretrain
from worker.starter.tools.tokenizer import build_tokenizer, write_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m worker.starter.tools",
        description="Train the starter model for tools, in up to half an hour on one CPU core.",
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for the checkpoint (created if missing)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of data and initial weights (default: 0)")
    parser.add_argument("--hidden", type=int, default=HIDDEN, help=f"hidden size (default: {HIDDEN})")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of torch (default: 1)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    make(arguments.out, seed=arguments.seed, hidden=arguments.hidden)


def make(out: Path, *, seed: int, hidden: int = HIDDEN, phases: tuple[PretrainPhase, ...] = PHASES) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model = pretrain(build_tokenizer(), seed=seed, hidden=hidden, report=_print, phases=phases)
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=1.0, top_k=0, top_p=1.0, eos_token_id=END_ID, pad_token_id=PAD_ID
    )
    save(model, out)
    write_tokenizer(out)
    parameters = sum(weights.numel() for weights in model.parameters())
    write_card(out, parameters=parameters, hidden=hidden, seed=seed, phases=phases)


def save(model: PreTrainedModel, out: Path) -> None:
    """Save 16-bit weights, to halve the size; the configuration says float32, in which they are loaded."""
    model.half().save_pretrained(out)
    path = out / "config.json"
    config = json.loads(path.read_text(encoding="utf-8")) | {"dtype": "float32"}
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command line's own output


if __name__ == "__main__":
    main()

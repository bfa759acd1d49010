"""`python -m worker.starter --out DIR`: train, measure and write the starter model."""

import argparse
import json
from pathlib import Path

import torch
from transformers import GenerationConfig

from worker.starter.card import write_card
from worker.starter.figures import Figures
from worker.starter.measure import measure
from worker.starter.phrasings import MEASURED
from worker.starter.pretrain import HIDDEN, PHASES, PretrainPhase, pretrain
from worker.starter.tokenizer import END_ID, PAD_ID, build_tokenizer, write_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m worker.starter",
        description="Train the starter model, in about seven minutes on two CPU cores.",
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for the checkpoint (created if missing)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of data and initial weights (default: 0)")
    parser.add_argument("--hidden", type=int, default=HIDDEN, help=f"hidden size (default: {HIDDEN})")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of torch (default: 2)")
    parser.add_argument(
        "--demo",
        type=Path,
        metavar="SUMMARY",
        help="train nothing; add the run in this demo-summary.json to the figures and the card in --out",
    )
    arguments = parser.parse_args()
    if arguments.demo:
        record_demo(arguments.out, arguments.demo)
        return
    torch.set_num_threads(arguments.threads)
    make(arguments.out, seed=arguments.seed, hidden=arguments.hidden)


def make(
    out: Path,
    *,
    seed: int,
    hidden: int = HIDDEN,
    phases: tuple[PretrainPhase, ...] = PHASES,
    samples: int = 800,
) -> None:
    out.mkdir(parents=True, exist_ok=True)  # fail on an unwritable folder before the training
    tokenizer = build_tokenizer()
    model = pretrain(tokenizer, seed=seed, hidden=hidden, report=_print, phases=phases)
    model.generation_config = GenerationConfig(
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        eos_token_id=END_ID,
        pad_token_id=PAD_ID,
    )
    model.save_pretrained(out)
    write_tokenizer(out)
    figures = Figures(
        hidden=hidden,
        parameters=sum(weights.numel() for weights in model.parameters()),
        seed=seed,
        phrasings={asking: measure(model, tokenizer, asking=asking, samples=samples) for asking in MEASURED},
    )
    figures.write(out)
    write_card(out, figures, phases=phases)
    _print(f"{out}: {figures.base}")


def record_demo(out: Path, summary: Path) -> None:
    figures = Figures.read(out).with_demo(json.loads(summary.read_text(encoding="utf-8")))
    figures.write(out)
    write_card(out, figures)


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command line's own output


if __name__ == "__main__":
    main()

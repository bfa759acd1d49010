"""`python -m worker.starter --out DIR`: make the starter model, measure it, write it with its card."""

import argparse
from pathlib import Path

import torch
from transformers import GenerationConfig

from worker.starter.card import write_card
from worker.starter.measure import measure
from worker.starter.pretrain import PHASES, Phase, pretrain
from worker.starter.tokenizer import END_ID, PAD_ID, build_tokenizer, write_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m worker.starter",
        description="Make the starter model: about five minutes on two CPU cores.",
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for the checkpoint (made if it is missing)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the data and the first weights (default: 0)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of torch (default: 2)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    make(arguments.out, seed=arguments.seed)


def make(out: Path, *, seed: int, phases: tuple[Phase, ...] = PHASES) -> None:
    """Train and write a complete Hugging Face checkpoint into `out`, replacing files of the same name."""
    out.mkdir(parents=True, exist_ok=True)  # an unwritable place is noticed before the training, not after
    tokenizer = build_tokenizer()
    model = pretrain(tokenizer, seed=seed, report=_say, phases=phases)
    measured = measure(model, tokenizer)
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
    write_card(
        out,
        measured=measured,
        parameters=sum(weights.numel() for weights in model.parameters()),
        vocabulary=tokenizer.get_vocab_size(),
        seed=seed,
        phases=phases,
    )
    _say(f"{out}: {measured}")


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command line's own output


if __name__ == "__main__":
    main()

"""The peer of gpu_check's section `peer`: TRL's GRPOTrainer on completions that are given, so that its update alone is
timed.

Run in a process of its own; writes `{"steps": [seconds…], "peak_mib"}`. Everything but sampling is TRL's own: rewards,
advantages, its batch of tensors, forward, backward and the optimizer. Settings as in `trl_grpo.py`.
"""

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOTrainer
from trl_grpo import config, peak_mib


class FixedCompletions(GRPOTrainer):
    """Takes random completions of one length in place of sampling."""

    completion_tokens: int
    vocabulary: int
    chance = random.Random(0)

    def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> Any:
        def completion() -> list[int]:
            return [self.chance.randrange(1, self.vocabulary) for _ in range(self.completion_tokens)]

        return [completion() for _ in prompt_ids], None


class Ends(TrainerCallback):
    def __init__(self) -> None:
        self.at: list[float] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.at.append(_now())

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.at.append(_now())


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def reward(completions: Any, **_: Any) -> list[float]:
    """Different for every completion, so that each has an advantage."""
    return [float(number % 7) for number, _ in enumerate(completions)]


def main() -> None:
    options = argparse.ArgumentParser()
    for name in ("model", "settings", "out"):
        options.add_argument(f"--{name}", type=Path, required=True)
    arguments = options.parse_args()
    job = json.loads(arguments.settings.read_text(encoding="utf-8"))
    rank, ends = job["adapter"]["rank"], Ends()
    cpu = job["device"] == "cpu"
    model = AutoModelForCausalLM.from_pretrained(
        arguments.model, dtype=torch.float32 if cpu else torch.bfloat16
    )
    trainer = FixedCompletions(
        model=model,
        processing_class=AutoTokenizer.from_pretrained(arguments.model),
        reward_funcs=reward,
        train_dataset=Dataset.from_list([{"prompt": text} for text in job["prompts"]]),
        peft_config=LoraConfig(
            r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
        callbacks=[ends],
        args=config(job, arguments.out.parent / "trl"),
    )
    trainer.completion_tokens = job["rollout"]["max_completion_tokens"]
    trainer.vocabulary = min(8192, model.config.vocab_size)
    trainer.train()
    seconds = [end - begin for begin, end in zip(ends.at[::2], ends.at[1::2], strict=True)]
    arguments.out.write_text(json.dumps({"steps": seconds, "peak_mib": peak_mib()}), encoding="utf-8")


if __name__ == "__main__":
    main()

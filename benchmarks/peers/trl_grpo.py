"""The peer of `step.py`: TRL's GRPOTrainer on the same model, rows, reward and settings, sampling with transformers.

Run by benchmarks in a process of its own; writes `{"began", "ends", "rewards", "lengths", "sample_seconds",
"loaded_mib", "peak_mib", "evaluations"}`: one number per step, the memory held once loaded and at most, and one
`{"step", "accuracy", "began", "ended"}` per evaluation, where the settings ask for those (`held_out`).
Differences from TRL's defaults, each because it is faster or the same mathematics as the other side: no gradient
checkpointing, float32 (on a GPU bf16, with adapters in float32), no logging, no saving, no dropout, a constant learning
rate without weight decay.
"""

import argparse
import json
import resource
import runpy
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


class Timed(GRPOTrainer):
    """Notes how long each step's completions took, rewards included."""

    sample_seconds: list[float]

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        started = time.monotonic()
        made = super()._generate_and_score_completions(inputs)
        self.sample_seconds.append(time.monotonic() - started)
        return made


def held_mib() -> float:
    """Of the GPU's memory where there is one."""
    if torch.cuda.is_available():
        return torch.cuda.memory_allocated() / 2**20
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def peak_mib() -> float:
    """The most of it that was held."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Ends(TrainerCallback):
    def __init__(self) -> None:
        self.began = 0.0
        self.at: list[float] = []
        self.loaded_mib = 0.0

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.began = time.monotonic()
        self.loaded_mib = held_mib()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.at.append(time.monotonic())


class HeldOut(TrainerCallback):
    """Held-out rows between steps, sampled as training samples; ends the run at the second accuracy in a row that is
    high enough."""

    def __init__(self, settings: dict[str, Any], path: Path, tokens: int) -> None:
        """`settings`: `path` of the rows, `every` so many steps, `samples` of each row, `stop_at`."""
        self._held_out, self._grade, self._tokens = settings, runpy.run_path(str(path))["grade"], tokens
        self._rows = [
            json.loads(line) for line in Path(settings["path"]).read_text(encoding="utf-8").splitlines()
        ]
        self.evaluations: list[dict[str, Any]] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **trainer: Any) -> None:
        self._evaluate(0, trainer["model"], trainer["processing_class"])

    def on_step_end(self, args: Any, state: Any, control: Any, **trainer: Any) -> None:
        step = state.global_step
        if step % self._held_out["every"] and step < state.max_steps:
            return
        self._evaluate(step, trainer["model"], trainer["processing_class"])
        last = [evaluation["accuracy"] for evaluation in self.evaluations[-2:]]
        if len(last) == 2 and min(last) >= self._held_out["stop_at"]:
            control.should_training_stop = True

    def _evaluate(self, step: int, model: Any, tokenizer: Any) -> None:
        began, training = time.monotonic(), model.training
        rows = [row for row in self._rows for _ in range(self._held_out["samples"])]
        texts = [
            tokenizer.apply_chat_template(row["messages"], tokenize=False, add_generation_prompt=True)
            for row in rows
        ]
        inputs = tokenizer(
            texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False
        )
        model.eval()
        with torch.no_grad():
            ids = model.generate(
                **inputs.to(model.device), do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
                max_new_tokens=self._tokens, pad_token_id=tokenizer.pad_token_id,
            )  # fmt: skip
        model.train(training)
        sampled_texts = tokenizer.batch_decode(
            ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True
        )
        scores = [
            self._grade({"output_text": text}, row)["score"]
            for text, row in zip(sampled_texts, rows, strict=True)
        ]
        evaluation = {"step": step, "accuracy": sum(scores) / len(scores)}
        self.evaluations.append(evaluation | {"began": began, "ended": time.monotonic()})


class Reward:
    """The demo's reward as TRL calls one, and what it saw: a mean reward and length per step."""

    __name__ = "correct"

    def __init__(self, path: Path) -> None:
        self._grade = runpy.run_path(str(path))["grade"]
        self.means: list[float] = []
        self.lengths: list[float] = []

    def __call__(self, completions: Any, completion_ids: Any, answer: list[str], **_: Any) -> list[float]:
        scores = [
            self._grade({"output_text": completion[0]["content"]}, {"answer": right})["score"]
            for completion, right in zip(completions, answer, strict=True)
        ]
        self.means.append(sum(scores) / len(scores))
        self.lengths.append(sum(map(len, completion_ids)) / len(completion_ids))
        return scores


def config(job: dict[str, Any], folder: Path) -> GRPOConfig:
    rollout, micro_batches = job["rollout"], job["micro_batches"]
    completions = rollout["prompts_per_step"] * rollout["completions_per_prompt"]
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=job["limits"]["steps"],
        per_device_train_batch_size=completions // micro_batches,
        gradient_accumulation_steps=micro_batches,
        num_generations=rollout["completions_per_prompt"],
        max_completion_length=rollout["max_completion_tokens"],
        temperature=1.0,
        loss_type=job.get("loss_type", "grpo"),
        beta=0.0,
        num_iterations=1,
        learning_rate=job["optimizer"]["learning_rate"],
        lr_scheduler_type="constant",
        weight_decay=0.0,
        max_grad_norm=1.0,
        optim="adamw_torch",
        use_cpu=job.get("device", "cpu") == "cpu",
        bf16=job.get("device", "cpu") != "cpu",
        fp16=False,
        gradient_checkpointing=False,
        disable_dropout=True,
        use_vllm=False,
        dataloader_pin_memory=False,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=job.get("seed", 0),
    )


def main() -> None:
    options = argparse.ArgumentParser()
    for name in ("model", "dataset", "reward", "settings", "out"):
        options.add_argument(f"--{name}", type=Path, required=True)
    arguments = options.parse_args()
    job = json.loads(arguments.settings.read_text(encoding="utf-8"))
    rows = [json.loads(line) for line in arguments.dataset.read_text(encoding="utf-8").splitlines()]
    rank = job["adapter"]["rank"]
    ends, reward, held_out = Ends(), Reward(arguments.reward), None
    if held_out_settings := job.get("held_out"):
        held_out = HeldOut(held_out_settings, arguments.reward, job["rollout"]["max_completion_tokens"])
    trainer = Timed(
        model=AutoModelForCausalLM.from_pretrained(
            arguments.model, dtype=torch.float32 if job.get("device", "cpu") == "cpu" else torch.bfloat16
        ),
        processing_class=AutoTokenizer.from_pretrained(arguments.model),
        reward_funcs=reward,
        train_dataset=Dataset.from_list(
            [{"prompt": row["messages"], "answer": row["answer"]} for row in rows]
        ),
        peft_config=LoraConfig(
            r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
        callbacks=[ends, held_out] if held_out else [ends],
        args=config(job, arguments.out.parent / "trl"),
    )
    trainer.sample_seconds = []
    trainer.train()
    report: dict[str, Any] = {"began": ends.began, "evaluations": held_out.evaluations if held_out else []}
    report |= {"ends": ends.at, "rewards": reward.means, "lengths": reward.lengths}
    report |= {"loaded_mib": ends.loaded_mib, "peak_mib": peak_mib()}
    arguments.out.write_text(
        json.dumps(report | {"sample_seconds": trainer.sample_seconds}), encoding="utf-8"
    )


if __name__ == "__main__":
    main()

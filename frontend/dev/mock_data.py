"""Invented jobs for the mock API: curves, completions and states as a real job would report them."""

import math
import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

PROMPTS, GROUP = 16, 8
SOURCE = '''"""Accuracy only: 1 for the right sum between the last `<answer>` tags."""

import re


def grade(sample, item):
    found = re.findall(r"<answer>(.*?)</answer>", sample["output_text"], re.DOTALL)
    if not found:
        return {"score": 0.0, "reason": "no <answer> found"}
    return {"score": float(found[-1].strip() == str(item["answer"])), "reason": "compared"}
'''
TRACEBACK = """Traceback (most recent call last):
  File "reward.py", line 8, in grade
    expected = int(item["answr"])
               ~~~~^^^^^^^^^
KeyError: 'answr'"""


def sigmoid(step: float, start: float, end: float, middle: float = 13, slope: float = 3) -> float:
    return start + (end - start) / (1 + math.exp(-(step - middle) / slope))


def noise(seed: int, step: int, scale: float) -> float:
    return (random.Random(seed * 100_003 + step).random() - 0.5) * scale


def train_values(step: int, seed: int) -> dict[str, float | None]:
    """All metrics of one completed step."""
    reward = min(1.0, sigmoid(step, 0.44, 0.95) + noise(seed, step, 0.06))
    right = sigmoid(step, 0.02, 0.62, 20, 2.5) + abs(noise(seed + 1, step, 0.06))
    wrong = max(0.0, sigmoid(step, 0.06, 0.0, 8, 2))
    length = sigmoid(step, 26, 48, 12) + noise(seed + 2, step, 1.6)
    generate, update = 0.41 + noise(seed + 3, step, 0.03), 0.28 + noise(seed + 4, step, 0.02)
    return {
        "reward/mean": reward,
        "reward/p10": max(0.0, reward - 0.55 + (0.2 if reward > 0.9 else 0)),
        "reward/p90": min(1.0, reward + 0.3),
        "reward/std": 0.5 - reward * 0.4,
        "reward/correct/mean": reward,
        "reward/error_share": 0.0,
        "groups/zero_variance_share": right + wrong,
        "groups/all_right_share": right,
        "groups/all_wrong_share": wrong,
        "completions/length_mean": length,
        "completions/length_p90": length + 7,
        "completions/truncated_share": max(0.0, 0.02 + noise(seed + 5, step, 0.03)),
        "entropy/mean": sigmoid(step, 0.092, 0.015, 12) + noise(seed + 6, step, 0.004),
        "kl/mean": None,
        "policy/ratio_mean": 1.0,
        "policy/clip_low_share": 0.0,
        "policy/clip_high_share": 0.0,
        "loss/policy": noise(seed + 7, step, 2e-3),
        "optimizer/grad_norm": 0.3 + noise(seed + 8, step, 0.1),
        "optimizer/learning_rate": 2e-4,
        "optimizer/updates": float(step),
        "sampler/gap_mean": 4e-7,
        "sampler/gap_max": 2e-6 + noise(seed + 9, step, 4e-7),
        "tokens/trained": step * 128 * 38.0,
        "throughput/completions_per_second": 128 / (generate + update + 0.02),
        "throughput/tokens_per_second": 128 * length / (generate + update + 0.02),
        "time/step": generate + update + 0.02,
        "time/generate": generate,
        "time/score": 0.02,
        "time/update": update,
        "memory/peak": 0.61,
    }


def held_out_values(step: int, seed: int) -> dict[str, float | None]:
    reward = sigmoid(step, 0.45, 0.95) + noise(seed + 10, step, 0.02)
    return {
        "held_out/reward_mean": reward,
        "held_out/reward_std_error": 0.02,
        "held_out/length_mean": sigmoid(step, 26, 48, 12),
        "held_out/error_share": 0.0,
    }


def completion(step: int, split: str, prompt_no: int, sample_no: int) -> dict[str, Any]:
    """One completion with everything, as `schemas.jobs.Completion` has it (advantage filled by `group`)."""
    draw = random.Random(f"{step}-{split}-{prompt_no}-{sample_no}")
    row = (step * PROMPTS + prompt_no) % 400
    a, b = row % 97 + 2, (row * 7) % 89 + 5
    total = a + b
    worked = draw.random() < sigmoid(step, 0.2, 1.0)
    right = draw.random() < (0.97 if worked else 0.35)
    given = total if right else total - draw.choice([1, 10, 10])
    units, tens = a % 10 + b % 10, a // 10 + b // 10 + (a % 10 + b % 10) // 10
    think = (
        f"<think>{a % 10}+{b % 10}={units} {a // 10}+{b // 10}{'+1' if units > 9 else ''}={tens}</think>\n"
    )
    text = (think if worked else "") + f"<answer>{given}</answer>"
    error, finish = None, "stop"
    if (prompt_no, sample_no) == (2, 3):
        text = '<img src=x onerror="alert(1)"><b>bold</b> <script>alert(1)</script>\n<answer>12</answer>'
        right, given = False, 12
    if (prompt_no, sample_no) == (1, 7):
        error = "exception"
    if (prompt_no, sample_no) == (0, 6):
        text, finish, right = think + "so the sum is then again " * 4, "length", False
    value = None if error else float(right)
    return {
        "step": step,
        "split": split,
        "prompt_no": prompt_no,
        "sample_no": sample_no,
        "row_index": row,
        "prompt_hash": f"{row:016x}",
        "reward": value,
        "advantage": None,
        "length": len(text),
        "finish_reason": finish,
        "error": error,
        "text": text,
        "prompt": f"<|im_start|>user\n{a}+{b}=<|im_end|>\n<|im_start|>assistant\n",
        "prompt_messages": [{"role": "user", "content": f"{a}+{b}="}],
        "item": {"answer": str(total), "a": a, "b": b},
        "rewards": [
            {
                "name": "correct",
                "status": error or "ok",
                "value": value,
                "parts": {} if error else {"format": 1.0, "accuracy": float(right)},
                "reason": None if error else ("right" if right else f"wrong sum: {given}, expected {total}"),
                "prints": f"checking row {row}\n" if sample_no == 0 else "",
                "message": TRACEBACK if error else None,
                "wall_ms": 0.4,
                "cpu_ms": 0.3,
                "revision": "rew_demo@3",
            }
        ],
        "token_ids": [],
        "tokens": [],
        "sampler_logprobs": [],
        "entropies": [],
    }


def group(step: int, split: str, prompt_no: int) -> list[dict[str, Any]]:
    rows = [completion(step, split, prompt_no, sample) for sample in range(GROUP if split == "train" else 4)]
    scored = [row["reward"] for row in rows if row["reward"] is not None]
    mean = sum(scored) / len(scored)
    std = math.sqrt(sum((value - mean) ** 2 for value in scored) / max(1, len(scored) - 1))
    for row in rows:
        if row["reward"] is not None and split == "train":
            row["advantage"] = 0.0 if std == 0 else (row["reward"] - mean) / (std + 1e-4)
    return rows


@dataclass
class MockJob:
    """A job whose step is a function of the clock."""

    id: str
    name: str
    status: str
    steps: int = 60
    done: int = 0
    seconds_per_step: float = 2.0
    seed: int = 7
    started: float = field(default_factory=time.time)
    reason: str | None = None
    error: dict[str, Any] | None = None
    spec: dict[str, Any] = field(default_factory=dict)
    ended: float | None = None

    def step(self) -> int:
        if self.status != "running":
            return self.done
        step = min(self.steps, int((time.time() - self.started) / self.seconds_per_step))
        if step == self.steps:
            self.status, self.done, self.ended = "succeeded", step, time.time()
        return step

    def evaluated(self) -> list[int]:
        return (
            [step for step in range(self.step() + 1) if step % 10 == 0] if self.step() or self.started else []
        )

    def body(self) -> dict[str, Any]:
        step, now = self.step(), datetime.now(UTC)
        began = None if self.status in ("queued", "validating") else datetime.fromtimestamp(self.started, UTC)
        final = self.status in ("succeeded", "failed", "cancelled")
        left = (self.steps - step) * self.seconds_per_step if self.status == "running" else None
        evaluated = self.evaluated() if began else []
        return {
            "object": "job",
            "id": self.id,
            "name": self.name,
            "project": "default",
            "status": self.status,
            "reason": self.reason,
            "error": self.error,
            "attempt": 1,
            "model": "starter-arith",
            "progress": {
                "step": step,
                "steps": self.steps,
                "percent": 100 * step / self.steps,
                "phase": "generating" if self.status == "running" else None,
                "eta_seconds": left,
                "eta_low_seconds": left and left * 0.8,
                "eta_high_seconds": left and left * 1.3,
            },
            "dataset": "file-additions",
            "preset_title": "GRPO",
            "reward_names": ["correct"],
            "held_out_reward_before": held_out_values(0, self.seed)["held_out/reward_mean"]
            if evaluated
            else None,
            "held_out_reward": held_out_values(evaluated[-1], self.seed)["held_out/reward_mean"]
            if evaluated
            else None,
            "best_step": evaluated[-1] if evaluated and step else None,
            "adapter": "adp_demo" if self.status == "succeeded" else None,
            "jail": "namespaces",
            "created_at": (began or now) - timedelta(seconds=4),
            "started_at": began,
            "finished_at": datetime.fromtimestamp(self.ended or time.time(), UTC) if final else None,
            "created_by": "owner",
        }

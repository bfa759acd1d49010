"""The job with which a preset shows that it learns: one recipe for all, the preset's slots, and what those need."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reinforge.algorithm.surrogate import Reinforce
from reinforge.presets import PRESETS, Preset, cards, merge
from worker.starter.corpus import working

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "arithmetic"
REWARD = Path(__file__).with_name("addition_reward.py")

COMPLETIONS = 128
"""Of a step: 16 prompts × 8, unless a preset has a group size of its own."""
GROUP = 8
TOKENS = 56
LEARNING_RATE = 2e-4
STEPS = 80
EVERY = 5
SAMPLES = 2
"""Of each of the 64 held-out rows."""
UPDATES = 4

RIGHT = {"type": "python", "name": "right", "path": str(REWARD), "entry": "grade"}
TWO_REWARDS = [
    RIGHT | {"weight": 0.5},
    {"type": "python", "name": "ones", "path": str(REWARD), "entry": "ones", "weight": 0.5},
]
NEEDS: dict[str, tuple[dict[str, Any], str]] = {
    "mo_grpo": ({"rewards": TWO_REWARDS}, "two rewards: the sum, and its last digit"),
    "gdpo": ({"rewards": TWO_REWARDS}, "two rewards: the sum, and its last digit"),
    "pow3r": ({}, "criteria: answer tagged, last digit right, sum right"),
    "vpo": ({}, "candidates: the first four answers, each scored for the sum and its last digit"),
    "grpo_process": ({}, "steps: each column that is written down, and the sum"),
    "dapo": (
        {},
        "the soft punishment begins at 45 of the 56 tokens, where a worked answer ends at about 48",
    ),
    "edge_grpo": (
        {"algorithm": {"selection": {"cue": "<think>", "max_tokens": 48}}},
        "the cue opens a second working, which is what this model can do with one",
    ),
}
"""What a preset needs beside its slots, and a note that says so."""


def single_turn() -> dict[str, Preset]:
    """Presets that a job with one completion per prompt can run."""
    return {name: card for name, card in PRESETS.items() if cards.single_turn_refusal(name, card) is None}


def updates_of(name: str) -> int:
    """Optimizer updates per step: 1 for REINFORCE, which has no ratio; else 4, the most that a published number is cut
    down to. In a step's first update nothing has moved and clips, gates and masks have nothing to do; after one
    more, at this learning rate, no ratio has left a range of ±0.2."""
    surrogate = cards.algorithm_of(name, PRESETS[name]).loss.surrogate
    return 1 if isinstance(surrogate, Reinforce) else UPDATES


def group_of(name: str) -> int:
    """Completions per prompt: the preset's own where that is part of it."""
    return int(PRESETS[name].job.get("rollout", {}).get("completions_per_prompt", GROUP))


def job(name: str, rows: Path, *, steps: int = STEPS) -> dict[str, Any]:
    """A raw `JobSpec`; `rows` from `write_rows`."""
    group = group_of(name)
    common = {
        "model": "starter-arith",
        "data": {
            "dataset": str(rows),
            "held_out": str(EXAMPLE / "heldout.jsonl"),
            "columns": {"answer": "answer"},
        },
        "rewards": [RIGHT],
        "algorithm": {"preset": name, "updates_per_step": updates_of(name)},
        "rollout": {
            "prompts_per_step": COMPLETIONS // group,
            "completions_per_prompt": group,
            "max_completion_tokens": TOKENS,
            "temperature": 1.0,
        },
        "adapter": {"rank": 16},
        "optimizer": {"learning_rate": LEARNING_RATE},
        # Right completions have reward 1, wrong ones 0, or 0.5 where the last digit counts and is right.
        "evaluation": {"every_steps": EVERY, "rows": 64, "samples_per_row": SAMPLES, "pass_above": 0.75},
        "limits": {"steps": steps, "checkpoint_every": steps + 1},
    }
    needed, _ = NEEDS.get(name, ({}, ""))
    return merge(common, needed)


def note_of(name: str) -> str:
    """How a preset's job differs from the others; empty when it does not."""
    _, note = NEEDS.get(name, ({}, ""))
    group = group_of(name)
    sizes = "" if group == GROUP else f"{COMPLETIONS // group} prompts × {group} completions"
    return "; ".join(filter(None, (sizes, note)))


def write_rows(folder: Path) -> Path:
    """The demo's additions, each with a `solution` for presets that repair wrong completions."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "additions.jsonl"
    path.write_text("".join(f"{line}\n" for line in _with_solutions()), encoding="utf-8")
    return path


def _with_solutions() -> Iterator[str]:
    for line in (EXAMPLE / "additions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        columns, total = working(row["a"], row["b"])
        yield json.dumps(row | {"solution": f"<think>{columns}</think><answer>{total}</answer>"})

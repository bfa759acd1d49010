"""Section `job`: whole offline jobs through `reinforge train`'s own code, by each engine that this machine has."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.gpu.models import RANK, shape_of
from common.gpu.rows import Row, Setting, at_least, figure, holds, waiting
from common.measure import ROOT
from common.random_model import prompts, save
from reinforge.errors import ReinforgeError
from reinforge.offline.train import train
from reinforge.spec import JobSpec
from worker.machine.vllm_python import CPU_BUILD, vllm_build, vllm_missing

ADDITIONS = ROOT / "examples" / "arithmetic"
REWARD = ROOT / "benchmarks" / "common" / "number_reward.py"
MOST_ROWS = 2000
GAIN = 0.1
"""Of the held-out reward that the starter model has to win on the device."""


def run(setting: Setting) -> Iterator[Row]:
    yield from _learns(setting)
    if setting.model is not None:
        yield from _published(setting)
    for engine in ("vllm", "transformers"):
        if engine == "vllm" and (missing := no_vllm(setting)):
            yield waiting("0.5B, vllm: two steps", missing)
            continue
        yield from _steps(engine, setting)


def no_vllm(setting: Setting) -> str | None:
    """Why vLLM cannot be used here; None where it can."""
    build = vllm_build()
    if build is None:
        return vllm_missing()
    if setting.device == "cuda" and build == CPU_BUILD:
        return f"the vLLM here is {CPU_BUILD}"
    return None


def _learns(setting: Setting) -> Iterator[Row]:
    """The demo's job on the device: additions in the starter model."""
    job = {
        "model": "starter-arith",
        "data": {"dataset": str(ADDITIONS / "additions.jsonl"), "held_out": str(ADDITIONS / "heldout.jsonl")},
        "rewards": [
            {
                "type": "string_check",
                "input": "{{sample.output_text}}",
                "operation": "like",
                "reference": "<answer>{{item.answer}}</answer>",
            }
        ],
        "rollout": _rollout(4, 4, 56) if setting.tiny else _rollout(24, 8, 56),
        "evaluation": {"every_steps": 99, "rows": 8 if setting.tiny else 64, "samples_per_row": 2},
        "limits": {"steps": 2 if setting.tiny else 24, "checkpoint_every": 99},
    }
    records, failure = _finished(job, setting.folder / "learns")
    if failure is not None:
        yield holds("starter model, additions: the job succeeds", False, failure)
        return
    yield holds("starter model, additions: the job succeeds", True, _device(records))
    rewards = [r["values"]["held_out/reward_mean"] for r in records if r["kind"] == "evaluated"]
    gain = rewards[-1] - rewards[0]
    name = "starter model, additions: held-out reward gained"
    about = {"from": rewards[0], "to": rewards[-1]}
    yield figure(name, gain, "", **about) if setting.tiny else at_least(name, gain, GAIN, "", **about)


def _steps(engine: str, setting: Setting) -> Iterator[Row]:
    """Two steps of 16 × 8 completions of 256 tokens, without vLLM of 64."""
    tokens = 16 if setting.tiny else {"vllm": 256, "transformers": 64}[engine]
    shape = shape_of("0.5B", setting)
    model = setting.folder / "model"
    if not model.exists():
        save(model, shape, device=setting.device)
    rows = setting.folder / "prompts.jsonl"
    texts = prompts(64, 24 if setting.tiny else 200, shape.vocabulary)
    rows.write_text(
        "\n".join(json.dumps({"messages": [{"role": "user", "content": text}]}) for text in texts)
    )
    job = {
        "model": str(model),
        "data": {"dataset": str(rows), "held_out_rows": 0},
        "rewards": [
            {
                "type": "string_check",
                "input": "{{sample.output_text}}",
                "operation": "like",
                # A part of the completions has it, so that groups have something to learn from.
                "reference": "w7" if setting.tiny else "w777",
            }
        ],
        "rollout": (_rollout(2, 4, tokens) if setting.tiny else _rollout(16, 8, tokens)) | {"engine": engine},
        "adapter": {"rank": RANK},
        "optimizer": {"learning_rate": 1e-5},
        "evaluation": {"rows": 0},
        "limits": {"steps": 2, "checkpoint_every": 99},
    }
    yield from _times(f"0.5B, {engine}", job, setting.folder / f"steps-{engine}")


def _published(setting: Setting) -> Iterator[Row]:
    """The model that the user named, on the data that the user named."""
    assert setting.model is not None
    data = rows_of(setting.data or "gsm8k", setting.folder)
    engine = "transformers" if no_vllm(setting) else "vllm"
    job = {
        "model": str(setting.model),
        "data": {"dataset": str(data), "held_out_rows": 32},
        "rewards": [{"type": "python", "name": "answer", "path": str(REWARD)}],
        "rollout": (_rollout(2, 4, 16) if setting.tiny else _rollout(32, 8, 512)) | {"engine": engine},
        "evaluation": {"every_steps": 20, "rows": 32, "samples_per_row": 1},
        "limits": {"steps": 2 if setting.tiny else 20},
    }
    yield from _times(f"{setting.model.name}, {engine}", job, setting.folder / "published")


def _times(label: str, job: dict[str, Any], out: Path) -> Iterator[Row]:
    """Whether the job succeeds, and where the time of its last step goes."""
    records, failure = _finished(job, out)
    if failure is not None:
        yield holds(f"{label}: the job succeeds", False, failure)
        return
    yield holds(f"{label}: the job succeeds", True, _device(records))
    values = [r["values"] for r in records if r["kind"] == "step_metrics"][-1]
    parts = {name: values[f"time/{name}"] for name in ("generate", "score", "update")}
    for name, seconds in parts.items():
        yield figure(f"{label}: {name}", seconds, "s")
    yield figure(f"{label}: rest of the step", values["time/step"] - sum(parts.values()), "s")
    if "memory/peak" in values:
        yield figure(f"{label}: peak memory", values["memory/peak"], "GiB")
    for reward in [r["values"]["held_out/reward_mean"] for r in records if r["kind"] == "evaluated"]:
        yield figure(f"{label}: held-out reward", reward, "")


def _finished(job: dict[str, Any], out: Path) -> tuple[list[dict[str, Any]], str | None]:
    """The records of the job, and why it did not succeed."""
    try:
        ended = train(JobSpec.model_validate(job), out)
    except ReinforgeError as error:
        return [], error.message
    lines = (out / "records.jsonl").read_text(encoding="utf-8").splitlines()
    if ended["outcome"] == "succeeded":
        return [json.loads(line) for line in lines], None
    return [], f"{ended['outcome']}: {ended.get('reason')}: {ended.get('message')}"


def _device(records: list[dict[str, Any]]) -> str:
    return str([r["facts"]["device"] for r in records if r["kind"] == "started"][-1])


def _rollout(prompts: int, completions: int, tokens: int) -> dict[str, Any]:
    return {
        "prompts_per_step": prompts,
        "completions_per_prompt": completions,
        "max_completion_tokens": tokens,
    }


def rows_of(data: str, folder: Path) -> Path:
    """A JSONL file with `messages` and `answer`: the user's, or made of rows with `question` and `answer`, as GSM8K has
    them. `gsm8k` itself is downloaded, which needs a network and the package `datasets`."""
    if data == "gsm8k":
        from datasets import load_dataset

        rows = load_dataset("openai/gsm8k", "main", split="train")
    else:
        rows = [json.loads(line) for line in Path(data).read_text(encoding="utf-8").splitlines()]
        if not rows or "question" not in rows[0]:
            return Path(data)
    file = folder / "published.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for row in itertools.islice(rows, MOST_ROWS):
            answer = row["answer"].rpartition("####")[2].strip().replace(",", "")
            out.write(
                json.dumps({"messages": [{"role": "user", "content": row["question"]}], "answer": answer})
                + "\n"
            )
    return file

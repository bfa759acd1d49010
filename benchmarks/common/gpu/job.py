"""Section `job`: whole offline jobs through `reinforge train`'s own code, by each engine that this machine has."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.gpu.models import RANK, shape_of
from common.gpu.rows import NO_GPU, NO_TIME, Row, Setting, at_least, figure, holds, of_gpu, waiting
from common.measure import ROOT
from common.random_model import prompts, save
from reinforge.errors import ReinforgeError
from reinforge.offline.train import train
from reinforge.spec import JobSpec
from worker.machine.vllm_python import CPU_BUILD, vllm_build, vllm_missing

ADDITIONS = ROOT / "examples" / "arithmetic"
STEPS = 12
GAIN = 0.1
"""Of the held-out reward that the starter model has to win on the device."""
STARTER = "starter model, engine transformers, additions"
ENGINES = ("vllm", "transformers")
SUCCEEDS, GAINED, PEAK = "the job succeeds", "held-out reward gained", "peak memory"
PARTS = ("generate", "score", "update")
TIMES = (*PARTS, "rest of the step", PEAK)


NEEDED = {"vllm": 90, "transformers": 30, STARTER: 35}
"""Seconds on a GPU, from which a job is begun. A vLLM without CUDA graphs took 53 s to start on an H100."""


def names() -> list[str]:
    return [*(name for engine in ENGINES for name in _names(engine)), *_starter_names()]


def run(setting: Setting) -> Iterator[Row]:
    for engine in ENGINES:
        missing = no_vllm(setting) if engine == "vllm" else None
        if missing is None and not setting.has_time(NEEDED[engine]):
            missing = NO_TIME
        if missing is None:
            yield from _steps(engine, setting)
        else:
            yield from (waiting(name, missing) for name in _names(engine))
    if setting.has_time(NEEDED[STARTER]):
        yield from _learns(setting)
    else:
        yield from (waiting(name, NO_TIME) for name in _starter_names())


def _names(engine: str) -> list[str]:
    return [f"{_label(engine)}: {part}" for part in (SUCCEEDS, *TIMES)]


def _starter_names() -> list[str]:
    return [f"{STARTER}: {part}" for part in (SUCCEEDS, GAINED)]


def _label(engine: str) -> str:
    return f"0.5B, engine {engine}"


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
        # Not auto: where vLLM is installed, its start would take longer than the job.
        "rollout": (rollout(4, 4, 56) if setting.tiny else rollout(24, 8, 56)) | {"engine": "transformers"},
        "evaluation": {"every_steps": 99, "rows": 8 if setting.tiny else 64, "samples_per_row": 2},
        "limits": {"steps": 2 if setting.tiny else STEPS, "checkpoint_every": 99},
    }
    records, failure = finished(job, setting.folder / "learns")
    yield holds(f"{STARTER}: {SUCCEEDS}", failure is None, failure or _device(records))
    if failure is not None:
        return
    rewards = [r["values"]["held_out/reward_mean"] for r in records if r["kind"] == "evaluated"]
    about = {"from": rewards[0], "to": rewards[-1]}
    yield of_gpu(at_least(f"{STARTER}: {GAINED}", rewards[-1] - rewards[0], GAIN, "", **about), setting)


def _steps(engine: str, setting: Setting) -> Iterator[Row]:
    """Two steps of 16 × 8 completions of 256 tokens, by transformers of 64."""
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
        "rollout": (rollout(2, 4, tokens) if setting.tiny else rollout(16, 8, tokens)) | {"engine": engine},
        "adapter": {"rank": RANK},
        "optimizer": {"learning_rate": 1e-5},
        "evaluation": {"rows": 0},
        "limits": {"steps": 2, "checkpoint_every": 99},
    }
    yield from times(_label(engine), job, setting.folder / f"steps-{engine}", setting)


def times(label: str, job: dict[str, Any], out: Path, setting: Setting) -> Iterator[Row]:
    """Whether the job succeeds, and where the time of its last step goes."""
    records, failure = finished(job, out)
    yield holds(f"{label}: {SUCCEEDS}", failure is None, failure or _device(records))
    if failure is not None:
        return
    values = [r["values"] for r in records if r["kind"] == "step_metrics"][-1]
    parts = {name: values[f"time/{name}"] for name in PARTS}
    for name, seconds in parts.items():
        yield of_gpu(figure(f"{label}: {name}", seconds, "s"), setting)
    rest = values["time/step"] - sum(parts.values())
    yield of_gpu(figure(f"{label}: rest of the step", rest, "s"), setting)
    name = f"{label}: {PEAK}"
    held = values.get("memory/peak")
    yield waiting(name, NO_GPU) if held is None else of_gpu(figure(name, held, "GiB"), setting)
    for number, row in enumerate(r for r in records if r["kind"] == "evaluated"):
        reward = row["values"]["held_out/reward_mean"]
        name = f"{label}: held-out reward {'after' if number else 'before'} training"
        yield of_gpu(figure(name, reward, "", step=row.get("step")), setting)


def finished(job: dict[str, Any], out: Path) -> tuple[list[dict[str, Any]], str | None]:
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


def rollout(prompts: int, completions: int, tokens: int) -> dict[str, Any]:
    return {
        "prompts_per_step": prompts,
        "completions_per_prompt": completions,
        "max_completion_tokens": tokens,
    }

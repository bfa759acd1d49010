"""Reads the settings that a TRL training script states as literals."""

import ast
from dataclasses import dataclass, field
from typing import Any

_FIELDS = {
    "num_generations": "rollout.completions_per_prompt",
    "max_completion_length": "rollout.max_completion_tokens",
    "max_prompt_length": "rollout.max_prompt_tokens",
    "temperature": "rollout.temperature",
    "top_p": "rollout.top_p",
    "learning_rate": "optimizer.learning_rate",
    "weight_decay": "optimizer.weight_decay",
    "max_grad_norm": "optimizer.clip_norm",
    "warmup_steps": "optimizer.warmup_steps",
    "max_steps": "limits.steps",
    "save_steps": "limits.checkpoint_every",
    "eval_steps": "evaluation.every_steps",
    "seed": "seed",
    "r": "adapter.rank",
    "lora_alpha": "adapter.alpha",
}
_SCHEDULES = ("constant", "linear", "cosine")
_SILENT = {
    "output_dir", "run_name", "report_to", "logging_steps", "bf16", "fp16", "gradient_checkpointing", "use_vllm",
    "push_to_hub", "hub_model_id", "remove_unused_columns", "log_completions", "save_strategy", "task_type",
    "save_total_limit", "vllm_mode", "vllm_gpu_memory_utilization", "reward_weights",
    "logging_strategy", "eval_strategy",
}  # fmt: skip


@dataclass
class Script:
    functions: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    job: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read(tree: ast.Module) -> Script:
    script = Script()
    ignored = []
    adapter = False
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        match _called(call):
            case "GRPOConfig" | "LoraConfig":
                adapter |= _called(call) == "LoraConfig"
                ignored += _configuration(script, call)
            case "GRPOTrainer":
                _trainer(script, call)
            case "load_dataset" if call.args:
                script.notes.append(
                    f"The rows were load_dataset({ast.unparse(call.args[0])}): write them as JSONL."
                )
    optimizer = script.job.get("optimizer", {})
    if not adapter and (rate := optimizer.pop("learning_rate", None)) is not None:
        script.notes.append(
            f"learning_rate was {rate:g}, for all weights. Here an adapter is trained: the rate is `auto`."
        )
    if not optimizer:
        script.job.pop("optimizer", None)
    if ignored:
        script.notes.append(f"Not carried over: {', '.join(sorted(set(ignored)))}.")
    return script


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _configuration(script: Script, call: ast.Call) -> list[str]:
    ignored = []
    for argument in call.keywords:
        name = argument.arg or ""
        try:
            value = ast.literal_eval(argument.value)
        except ValueError:
            if name not in _SILENT:
                ignored.append(name or "**")
            continue
        if name == "reward_weights" and isinstance(value, list | tuple):
            script.weights = [float(weight) for weight in value]
        elif name == "lr_scheduler_type" and value in _SCHEDULES:
            script.job.setdefault("optimizer", {})["schedule"] = value
        elif name == "max_steps" and isinstance(value, int) and value < 1:
            continue  # TRL's word for "by epochs"
        elif name in _FIELDS and isinstance(value, int | float) and not isinstance(value, bool):
            *above, last = _FIELDS[name].split(".")
            place = script.job
            for part in above:
                place = place.setdefault(part, {})
            place[last] = value
        elif name not in _SILENT:
            ignored.append(f"{name}={value!r}")
    return ignored


def _trainer(script: Script, call: ast.Call) -> None:
    for argument in call.keywords:
        if argument.arg == "reward_funcs":
            listed = (
                argument.value.elts if isinstance(argument.value, ast.List | ast.Tuple) else [argument.value]
            )
            script.functions = [reference.id for reference in listed if isinstance(reference, ast.Name)]
            for reference in listed:
                if isinstance(reference, ast.Constant) and isinstance(reference.value, str):
                    script.notes.append(
                        f"The reward model {reference.value} is a grader here: type reward_model."
                    )
        elif argument.arg == "model" and isinstance(argument.value, ast.Constant):
            model = str(argument.value.value)
            script.notes.append(
                f"The model was {model}: `reinforge models add NAME --from hub:{model}@main`."
            )

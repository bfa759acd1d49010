"""Model card of a downloaded adapter."""

import json

from backend.base_models.sources import plain
from backend.models import Adapter, BaseModel, Checkpoint, Job

_CARD = """\
---
library_name: peft
base_model: {base}
tags:
  - reinforge
  - lora
---

# {name}

A LoRA adapter for `{base}`, trained by reinforcement with Reinforge.

| | |
|---|---|
| job | `{job}` |
| steps | {step} |
| dataset | `{dataset}` |
| rewards | {rewards} |
| algorithm | {algorithm} |
| held-out reward before | {before} |
| held-out reward after | {after} |

"""
_UPLOADED = """\
---
library_name: peft
base_model: {base}
tags:
  - lora
---

# {name}

A LoRA adapter for `{base}`, uploaded to Reinforge.

"""
_USAGE = """\
```python
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

{base_path}
tokenizer = AutoTokenizer.from_pretrained(base{revision})
model = AutoModelForCausalLM.from_pretrained(base{revision})
model = PeftModel.from_pretrained(model, ".")  # "." is the folder with this file
```

The adapter's weights fit this base model only{pin}.
"""


def write_card(weights: Adapter | Checkpoint, name: str, job: Job, model: BaseModel) -> str:
    spec = job.resolved_spec
    rewards = ", ".join(f"`{reward['name']}` x {reward['weight']:g}" for reward in spec.get("rewards", []))
    description = _CARD.format(
        base=_base_name(model),
        name=_one_line(name),
        job=job.id,
        step=weights.step,
        dataset=job.dataset_id,
        rewards=rewards or "-",
        algorithm=spec.get("algorithm", {}).get("preset") or "its own",
        before=_number(job.held_out_reward_before),
        after=_number(weights.held_out_reward),
    )
    return description + _usage(model, job.model_sha256)


def uploaded_card(name: str, model: BaseModel) -> str:
    return _UPLOADED.format(base=_base_name(model), name=_one_line(name)) + _usage(model, model.sha256)


def _base_name(model: BaseModel) -> str:
    source = plain(model.source)
    return source.removeprefix("hub:").partition("@")[0] if source.startswith("hub:") else model.id


def _usage(model: BaseModel, sha256: str | None) -> str:
    path, revision = _base_path(plain(model.source))
    pin = f" (SHA-256 of its files: `{sha256}`)" if sha256 else ""
    return _USAGE.format(base_path=path, revision=revision, pin=pin)


def _base_path(source: str) -> tuple[str, str]:
    if source.startswith("builtin:"):
        name = source.removeprefix("builtin:")
        return (
            "from importlib.resources import files  # the built-in model lies in the package reinforge-server\n\n"
            f'base = str(files("worker") / "starter" / "{name}")',
            "",
        )
    if source.startswith("hub:"):
        name, _, revision = source.removeprefix("hub:").partition("@")
        return f'base = "{name}"', f', revision="{revision}"' if revision else ""
    return f"base = {json.dumps(source)}  # the base model's folder, as the workers have it", ""


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _one_line(text: str) -> str:
    return " ".join(text.split())

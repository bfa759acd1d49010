"""The card that goes with a downloaded adapter: where it comes from, and how to load it."""

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

```python
from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("{base}")  # the folder or name of the base model
model = PeftModel.from_pretrained(base, "path/to/this/folder")
```

The adapter's weights fit this base model only{pin}.
"""


def write_card(weights: Adapter | Checkpoint, name: str, job: Job, model: BaseModel) -> str:
    """Markdown that depends on stored facts alone; those of an adapter do not change any more."""
    spec = job.resolved_spec
    base = model.source.removeprefix("hub:") if model.source.startswith("hub:") else model.id
    rewards = ", ".join(f"`{reward['name']}` x {reward['weight']:g}" for reward in spec.get("rewards", []))
    return _CARD.format(
        base=base,
        name=_one_line(name),
        job=job.id,
        step=weights.step,
        dataset=job.dataset_id,
        rewards=rewards or "-",
        algorithm=spec.get("algorithm", {}).get("preset") or "its own",
        before=_number(job.held_out_reward_before),
        after=_number(weights.held_out_reward),
        pin=f" (SHA-256 of its files: `{job.model_sha256}`)" if job.model_sha256 else "",
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _one_line(text: str) -> str:
    return " ".join(text.split())

"""Model card of a published adapter, with stored facts only."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reinforge.diagnosis.verdict import Change
from reinforge.schemas.checkpoints import Checkpoint
from reinforge.schemas.jobs import JobDetail
from reinforge.schemas.resources import BaseModelInfo, Dataset

_LICENCE = re.compile(r"[a-z0-9][a-z0-9.-]{0,60}")


@dataclass(frozen=True)
class CardFacts:
    name: str
    base: str
    """Name of the base model on the hub, or its id."""
    revision: str | None = None
    base_sha256: str | None = None
    licence: str | None = None
    """Licence of the base model."""
    job: str | None = None
    step: int | None = None
    steps: int | None = None
    data: str | None = None
    rewards: Sequence[str] = ()
    algorithm: str | None = None
    before: float | None = None
    after: float | None = None
    change: Change | None = None
    held_out_rows: int | None = None
    versions: dict[str, str] = field(default_factory=dict)


def facts_of(
    model: BaseModelInfo, job: JobDetail, checkpoint: Checkpoint, dataset: Dataset | None
) -> CardFacts:
    spec = job.resolved_spec or job.spec
    base, revision = base_name(model.source, model.id)
    return CardFacts(
        name=job.name,
        base=base,
        revision=model.revision or revision,
        base_sha256=model.sha256,
        licence=model.licence,
        job=job.id,
        step=checkpoint.step,
        steps=job.progress.steps,
        data=job.dataset if dataset is None else f"{dataset.name} ({dataset.rows:,} rows)",
        rewards=[f"{reward['name']} × {reward.get('weight', 1.0):g}" for reward in spec.get("rewards", [])],
        algorithm=job.preset_title,
        before=job.held_out_reward_before,
        after=checkpoint.held_out_reward,
        change=checkpoint.held_out_change,
        held_out_rows=job.facts.get("held_out_rows"),
        versions=job.facts.get("versions") or {},
    )


def base_name(source: str, id: str) -> tuple[str, str | None]:
    """A model's name on the Hugging Face Hub and its revision; for other sources its id and None."""
    plain = source.partition("#")[0]
    if not plain.startswith("hub:"):
        return id, None
    name, _, revision = plain.removeprefix("hub:").partition("@")
    return name, revision or None


def write_card(facts: CardFacts, *, merged: str | None = None) -> str:
    """merged: precision of the merged weights; None for an adapter."""
    rows = [f"| {name} | {_cell(value)} |" for name, value in _table(facts, merged) if value]
    what = "the base model with the adapter merged into its weights" if merged else "a LoRA adapter"
    return "\n".join([
        "---", *_metadata(facts, merged), "---", "",
        f"# {_cell(facts.name)}", "",
        f"This is {what}, trained from `{_cell(facts.base)}` by reinforcement with Reinforge.", "",
        "| | |", "|---|---|", *rows, "",
        _reading(facts), "",
        "```python", *_usage(facts, merged), "```", "",
    ])  # fmt: skip


def _metadata(facts: CardFacts, merged: str | None) -> list[str]:
    lines = [
        f"library_name: {'transformers' if merged else 'peft'}",
        f"base_model: {json.dumps(facts.base)}",
        f"base_model_relation: {'finetune' if merged else 'adapter'}",
        "pipeline_tag: text-generation",
    ]
    if facts.licence is not None:
        plain = _LICENCE.fullmatch(facts.licence.lower())
        lines += [f"license: {facts.licence.lower()}"] if plain else [
            "license: other", f"license_name: {json.dumps(_cell(facts.licence)[:100])}",
        ]  # fmt: skip
    return [*lines, "tags:", "  - reinforge", "  - reinforcement-learning", *([] if merged else ["  - lora"])]


def _table(facts: CardFacts, merged: str | None) -> list[tuple[str, str | None]]:
    at = None
    if facts.step is not None:
        at = f"{facts.step}" + ("" if facts.steps in (None, facts.step) else f" of {facts.steps}")
    return [
        ("base model", facts.base + (f" at {facts.revision}" if facts.revision else "")),
        ("SHA-256 of its files", facts.base_sha256),
        ("its licence", facts.licence or "not stated"),
        ("data", facts.data),
        ("rewards", ", ".join(facts.rewards)),
        ("algorithm", facts.algorithm),
        ("steps", at),
        ("held-out reward of the base", _number(facts.before)),
        ("held-out reward with the adapter", _number(facts.after)),
        ("change", _change(facts)),
        ("precision", merged),
        ("job", facts.job),
        ("versions", ", ".join(f"{name} {version}" for name, version in facts.versions.items())),
    ]


def _change(facts: CardFacts) -> str | None:
    if facts.change is None:
        return None
    rows = f", {facts.held_out_rows} rows" if facts.held_out_rows else ""
    return (
        f"{facts.change.value:+.3f}, 95 % interval {facts.change.low:+.3f} to {facts.change.high:+.3f}{rows}"
    )


def _reading(facts: CardFacts) -> str:
    if facts.after is None or facts.before is None:
        return "No held-out reward was measured."
    text = "Held-out rewards are means over rows of the data that were not trained on; nothing else was measured."
    if facts.change is not None and facts.change.low <= 0 <= facts.change.high:
        text += " The interval of the change contains 0: it may be chance."
    return text


def _usage(facts: CardFacts, merged: str | None) -> list[str]:
    revision = f", revision={facts.revision!r}" if facts.revision else ""
    if merged:
        return [
            "from transformers import AutoModelForCausalLM, AutoTokenizer", "",
            'tokenizer = AutoTokenizer.from_pretrained("THIS REPOSITORY")',
            'model = AutoModelForCausalLM.from_pretrained("THIS REPOSITORY", dtype="auto")',
        ]  # fmt: skip
    return [
        "from peft import PeftModel", "from transformers import AutoModelForCausalLM, AutoTokenizer", "",
        f"base = {json.dumps(facts.base)}",
        f"tokenizer = AutoTokenizer.from_pretrained(base{revision})",
        f'model = AutoModelForCausalLM.from_pretrained(base{revision}, dtype="auto")',
        'model = PeftModel.from_pretrained(model, "THIS REPOSITORY")',
    ]  # fmt: skip


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())

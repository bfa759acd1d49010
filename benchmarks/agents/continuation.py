"""Part `continuation` of the proof: tokens of conversations that continue, for every template of the TRL wheel."""

import random
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchmarks.agents.templates import byte_tokenizer, merging_tokenizer, wheel_templates, write_folder
from benchmarks.agents.turns import Counts, converse, random_tools
from reinforge.errors import InvalidInput
from worker.models.chat import renderer
from worker.rpc.continuation import folder_continuation, notation_of

TOKENIZERS: dict[str, Callable[[str], Tokenizer]] = {"bytes": byte_tokenizer, "bpe": merging_tokenizer}
TURNS_OF_A_CONVERSATION = 6


def measure(turns: int) -> dict[str, Any]:
    """Counts by tokenizer over so many turns in all, and what became of every template."""
    with tempfile.TemporaryDirectory() as folder:
        templates = {name: _facts(Path(folder) / name, text) for name, text in wheel_templates().items()}
        continued = [
            name for name, facts in templates.items() if "notation" in facts and "refused" not in facts
        ]
        counts = {
            kind: asdict(_conversations(Path(folder) / kind, kind, continued, turns // len(TOKENIZERS)))
            for kind in TOKENIZERS
        }
    return {
        "templates": len(templates),
        "continued": len(continued),
        "calls_read": sum("notation" in facts for facts in templates.values()),
        "tokens": counts,
        "by_template": templates,
    }


def is_right(result: dict[str, Any]) -> bool:
    return all(
        counts["suffix_mismatches"] == counts["text_mismatches"] == 0 for counts in result["tokens"].values()
    )


def _facts(folder: Path, template: str) -> dict[str, Any]:
    write_folder(folder, template, byte_tokenizer(template))
    facts: dict[str, Any] = {}
    try:
        facts["notation"] = notation_of(folder)
        facts |= asdict(folder_continuation(folder, random_tools(random.Random(0))).prove())
    except InvalidInput as error:
        facts["refused"] = error.message
    return facts


def _conversations(folder: Path, kind: str, names: list[str], turns: int) -> Counts:
    counts, templates, rng = Counts(), wheel_templates(), random.Random(kind)
    for place, name in enumerate(names):
        path = write_folder(folder / name, templates[name], TOKENIZERS[kind](templates[name]))
        while counts.turns < turns * (place + 1) // len(names):
            template = folder_continuation(path, random_tools(rng))
            size = min(
                rng.randint(1, TURNS_OF_A_CONVERSATION), turns * (place + 1) // len(names) - counts.turns
            )
            parallel = "llama" not in name
            counts.add(converse(template, renderer(path), size, rng, parallel=parallel))
    return counts

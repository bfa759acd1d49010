"""docs/claims.md, written from `benchmarks/results/claims.json` alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from common.runs import Result

from claims import pictures, results
from claims.fixtures import ROOT
from claims.ledger import Claim, median
from claims.notes import NOTES
from claims.registry import CLAIMS

PAGE = ROOT / "docs" / "claims.md"

INTRO = """# Claims

What articles and papers say that GRPO and its variants do, each run again at our scale: a model of 0.8 million
parameters, one kind of task at a time, minutes of training, three seeds. {marked} claims: {counts}.

* **Confirmed**: every test of the claim's rule holds. The rule, below each claim, was written before the runs.
* **Refuted**: one does not. At this scale, on this task: the published effect may well be there at theirs.
* **Out of reach**: at this scale the mechanism cannot act, so that runs say nothing.

Numbers are the median over three seeds, with the lowest and the highest. Unless a row says otherwise: starter model,
8 prompts × 8 completions of at most 56 tokens, one update per step, 20 steps, LoRA r = 16, AdamW at 6e-4, temperature
1; presets with their slots, not with their published recipe. *Additions* are the demo's: hasty answers (22 tokens, one
in three right) and workings (about 46, nearly always right).

This page is written from `benchmarks/results/claims.json` by `benchmarks/claims.py --page`.
"""


def write(found: Mapping[tuple[str, int], Result]) -> None:
    """Results, page and pictures from the runs there are."""
    content = results.collect(found)
    results.write(content)
    for path, text in pictures.drawn(content).items():
        path.write_text(text, encoding="utf-8")
    PAGE.write_text(text_of(content), encoding="utf-8")
    print(f"{len(content['claims'])} of {len(CLAIMS)} claims marked → {PAGE.relative_to(ROOT)}")


def check() -> int:
    content = results.read()
    found = results.problems(content)
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text_of(content):
        found.append("docs/claims.md has drifted: run benchmarks/claims.py --page")
    for path, text in pictures.drawn(content).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            found.append(f"{path.name} has drifted: run benchmarks/claims.py --page")
    print("\n".join(found) if found else f"claims: {len(content['claims'])} marked, page up to date")
    return bool(found)


def text_of(content: Mapping[str, Any]) -> str:
    marked = content["claims"]
    counted = Counter(entry["mark"] for entry in marked.values())
    counts = ", ".join(f"{counted[mark]} {mark}" for mark in ("confirmed", "refuted", "out of reach"))
    there = [claim for claim in CLAIMS if claim.id in marked]
    lines = [
        INTRO.format(marked=len(there), counts=counts),
        "| claim | source | what we ran | measured | mark |",
        "|---|---|---|---|---|",
        *(_row(claim, marked[claim.id]) for claim in there),
        "",
        *pictures.lines(content),
    ]
    for claim in there:
        lines += _section(claim, marked[claim.id])
    return "\n".join(lines).rstrip() + "\n"


def _row(claim: Claim, entry: Mapping[str, Any]) -> str:
    measured = "<br>".join(
        f"{measure.name}: "
        + ", ".join(f"{label} {_range(values[measure.name])}" for label, values in _by_arm(entry))
        for measure in claim.measures
    )
    cells = (
        f"[{claim.statement}](#{claim.id})",
        claim.source,
        claim.ran,
        measured or "–",
        f"**{entry['mark']}**",
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _section(claim: Claim, entry: Mapping[str, Any]) -> list[str]:
    tests = [("Only if", test) for test in claim.acted] + [("Rule", test) for test in claim.rule]
    return [
        f"## {claim.id}",
        "",
        f"{claim.statement} **{entry['mark'].capitalize()}.** {NOTES.get(claim.id, '')}".rstrip(),
        "",
        *(
            f"* {kind}: {test.says}. {'Holds.' if test.holds(entry['numbers']) else 'Does not hold.'}"
            for kind, test in tests
        ),
        *([f"* `.venv/bin/python benchmarks/claims.py --only {claim.id}`"] if claim.arms else []),
        "",
    ]


def _by_arm(entry: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Sequence[float]]]]:
    return list(entry["numbers"].items())


def _range(values: Sequence[float]) -> str:
    return f"{_number(median(values))} [{_number(min(values))}, {_number(max(values))}]"


def _number(value: float) -> str:
    if value == 0:
        return "0"
    size = abs(value)
    return (
        f"{value:.0f}"
        if size >= 100
        else f"{value:.1f}"
        if size >= 10
        else f"{value:.2f}"
        if size >= 0.1
        else f"{value:.2g}"
    )

"""docs/claims.md, written from `claims.json` and `tool_presets.json` of `benchmarks/results` alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from common.runs import Result

from claims import pictures, results, tool_presets
from claims.fixtures import ROOT
from claims.ledger import MARKS, Claim, median, with_evidence
from claims.notes import NOTES
from claims.registry import CLAIMS

PAGE = ROOT / "docs" / "claims.md"

INTRO = """# Claims

What articles and papers say that GRPO and its variants do, each run again here: one kind of task at a time, minutes of
training, three seeds. **One model of 0.8 million parameters says nothing about the papers' scale.** A claim that is not
reproduced here may well hold there, and one that is reproduced here may not.

{marked} claims: {counts}.

* **Reproduced here**: every test of the claim's rule holds. The rule, below each claim, was written before the runs.
* **Not reproduced here**: one test does not hold.
* **Could not act**: what the mechanism works on was not there, so that the runs say nothing about the claim.

*Could the mechanism act?* is measured against bounds: what there has to be for the mechanism to work on. Below a bound
the mark is *could not act*, whatever the rule says; the script derives every mark. Each claim says when its bounds were
written: before the runs, after the runs but before the bound's own number was taken, or with that number known, which
counts for less. *Not measured*: no stored run has the number yet; the mark is then the rule's alone.

Numbers are the median over three seeds, with the lowest and the highest. Unless a row says otherwise: starter model,
8 prompts × 8 completions of at most 56 tokens, one update per step, 20 steps, LoRA r = 16, AdamW at 6e-4, temperature
1; presets with their slots, not with their published recipe. *Additions* are the demo's: hasty answers (22 tokens, one
in three right) and workings (about 46, nearly always right). Rewards are the user's, without any preset's shaping.
{checkpoints}

This page is written from `benchmarks/results/claims.json` by `benchmarks/claims.py --page`.
"""
HOLDS = {True: "Holds.", False: "Does not hold.", None: "Not measured."}
ANSWER = {True: "yes", False: "no", None: "not measured"}


def write(results_by_run: Mapping[tuple[str, int], Result]) -> None:
    """Results, page and pictures from the runs there are."""
    content = results.collect(results_by_run, results.read())
    results.write(content)
    for path, text in pictures.drawn(content).items():
        path.write_text(text, encoding="utf-8")
    PAGE.write_text(text_of(content), encoding="utf-8")
    print(f"{len(content['claims'])} of {len(CLAIMS)} claims marked → {PAGE.relative_to(ROOT)}")


def check() -> int:
    content = results.read()
    complaints = results.problems(content)
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text_of(content):
        complaints.append("docs/claims.md has drifted: run benchmarks/claims.py --page")
    for path, text in pictures.drawn(content).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            complaints.append(f"{path.name} has drifted: run benchmarks/claims.py --page")
    print(
        "\n".join(complaints) if complaints else f"claims: {len(content['claims'])} marked, page up to date"
    )
    return bool(complaints)


def text_of(content: Mapping[str, Any]) -> str:
    marked = content["claims"]
    counted = Counter(entry["mark"] for entry in marked.values())
    counts = ", ".join(f"{counted[mark]} {mark}" for mark in MARKS)
    there = [claim for claim in CLAIMS if claim.id in marked]
    lines = [
        INTRO.format(marked=len(there), counts=counts, checkpoints=_checkpoints(content)),
        "| claim | source | what we ran | measured | could the mechanism act? | mark |",
        "|---|---|---|---|---|---|",
        *(_row(claim, marked[claim.id]) for claim in there),
        "",
        *pictures.lines(content),
    ]
    for claim in there:
        lines += _section(claim, marked[claim.id])
    lines += tool_presets.section()
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
        _could_act(claim, entry),
        f"**{entry['mark']}**",
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _could_act(claim: Claim, entry: Mapping[str, Any]) -> str:
    numbers = with_evidence(entry["numbers"], entry["evidence"])
    measured = [
        f"{measure.name}: {arm} {_range(numbers[arm][measure.name])}"
        for bound in claim.bounds
        if bound.holds(numbers) is not None
        for arm, measure in bound.measures
    ]
    return "<br>".join([f"**{ANSWER[claim.could_act(numbers)]}**", *dict.fromkeys(measured)])


def _section(claim: Claim, entry: Mapping[str, Any]) -> list[str]:
    numbers = with_evidence(entry["numbers"], entry["evidence"])
    return [
        f"## {claim.id}",
        "",
        f"{claim.statement} **{entry['mark'].capitalize()}.** {NOTES.get(claim.id, '')}".rstrip(),
        "",
        *(
            f"* It can act only if: {bound.test.says}. {HOLDS[bound.holds(numbers)]} (Bound written {bound.when}.)"
            for bound in claim.bounds
        ),
        *(f"* Rule: {test.says}. {HOLDS[test.holds(numbers)]}" for test in claim.rule),
        *([f"* `.venv/bin/python benchmarks/claims.py --only {claim.id}`"] if claim.arms else []),
        "",
    ]


def _checkpoints(content: Mapping[str, Any]) -> str:
    """Which starter weights were trained, with the arms of all but the most frequent ones."""
    by: dict[str, list[str]] = {}
    for name, about in content["arms"].items():
        by.setdefault(about["checkpoint"], []).append(f"`{name}`")
    (most, _), *others = sorted(by.items(), key=lambda arm_digests: -len(arm_digests[1]))
    lines = [f"Starter weights: SHA-256 `{most}…` of `worker/starter/starter-arith/model.safetensors`"]
    lines += [f"`{checkpoint}…` for {', '.join(names)}" for checkpoint, names in others]
    return "; ".join(lines) + "."


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

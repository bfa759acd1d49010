"""`benchmarks/results/claims.json`: what was measured, claim by claim, small enough to be committed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from common.measure import machine
from common.runs import Result, stored

from claims.fixtures import ROOT, WORK
from claims.learned import LEARNING
from claims.ledger import SEEDS, Arm, Claim, Measure, with_evidence
from claims.registry import CLAIMS, arms

PATH = ROOT / "benchmarks" / "results" / "claims.json"
LEARNED = PATH.with_name("learning.json")
CURVES = {
    "learning/grpo": ("entropy/mean",),
    "learning/eda": ("entropy/mean",),
    "learning/edge_grpo": ("entropy/mean",),
    "learning/gtpo": ("entropy/mean",),
    "two_scales/sum": ("reward/first_digit/mean", "reward/last_digit/mean"),
    "two_scales/mo_grpo": ("reward/first_digit/mean", "reward/last_digit/mean"),
}
"""Training metrics that the page draws."""
CURVE_STEPS = 40


def fingerprint(arm: Arm) -> str:
    """Of the job, wherever its rows lie: other rows, rewards or settings give another."""
    text = json.dumps(arm.spec, sort_keys=True).replace(str(WORK), "").replace(str(ROOT), "")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def stored_results() -> dict[tuple[str, int], Result]:
    """Of the ledger's own runs and of those of the benchmark of learning, by arm and seed."""
    learned = {(f"learning/{name}", seed): result for (name, seed), result in stored(LEARNING).items()}
    return learned | stored(WORK)


def collect(results_by_run: Mapping[tuple[str, int], Result], committed: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of the runs there are; of runs that are not stored, the committed ones, while their jobs are the same.

    Claims that have neither are left out, and named on the terminal.
    """
    digests = {arm.name: {run.seed: run.digest for run in arm.runs()} for arm in arms()}
    good = {
        (name, seed): result
        for (name, seed), result in results_by_run.items()
        if result.ok and (name.startswith("learning/") or digests.get(name, {}).get(seed) == result.digest)
    }
    facts = learning_facts()
    claims: dict[str, Any] = {}
    carried = False
    for claim in CLAIMS:
        missing = [arm.name for arm in claim.arms.values() if not all((arm.name, s) in good for s in SEEDS)]
        before = _same_jobs(claim, committed)
        if missing and not before:
            print(f"{claim.id}: no results of {', '.join(missing)}")
            continue
        carried = carried or bool(missing)
        numbers = before["numbers"] if missing else claim.numbers(good)
        evidence = _evidence(claim, good, facts, before.get("evidence", {}))
        mark = claim.mark(with_evidence(numbers, evidence))
        claims[claim.id] = {"mark": mark, "numbers": numbers, "evidence": evidence}
    return {
        "machine": committed["machine"] if carried else machine("reinforge", "torch", "transformers", "peft"),
        "seeds": list(SEEDS),
        "claims": claims,
        "arms": {
            arm.name: _about(arm, good, committed["arms"].get(arm.name))
            for arm in arms()
            if (arm.name, SEEDS[0]) in good or arm.name in committed["arms"]
        },
        "curves": committed["curves"]
        | {
            name: {
                metric: [good[name, seed].train[metric][:CURVE_STEPS] for seed in SEEDS] for metric in metrics
            }
            for name, metrics in CURVES.items()
            if all((name, seed) in good for seed in SEEDS)
        },
    }


def learning_facts() -> dict[tuple[str, int], dict[str, Any]]:
    """What `results/learning.json` says of the runs that arms share with it, by arm and seed, of the same job."""
    presets = json.loads(LEARNED.read_text(encoding="utf-8"))["presets"]
    return {
        (arm.name, run.seed): facts
        for arm in arms()
        if arm.preset in presets
        for run in arm.runs()
        for facts in presets[arm.preset]["runs"]
        if (facts["seed"], facts["digest"]) == (run.seed, run.digest)
    }


def _same_jobs(claim: Claim, committed: Mapping[str, Any]) -> dict[str, Any]:
    """The committed entry; empty where there is none or an arm's job has changed."""
    for arm in claim.arms.values():
        if committed["arms"].get(arm.name, {}).get("fingerprint") != fingerprint(arm):
            return {}
    entry: dict[str, Any] = committed["claims"].get(claim.id, {})
    return entry


def _evidence(
    claim: Claim,
    good: Mapping[tuple[str, int], Result],
    facts: Mapping[tuple[str, int], dict[str, Any]],
    before: Mapping[str, Mapping[str, list[float]]],
) -> dict[str, dict[str, list[float]]]:
    """What bounds read, of the seeds that have it."""
    measured: dict[str, dict[str, list[float]]] = {}
    for label, measures in claim.evidence().items():
        arm = claim.arms[label].name
        for measure in measures:
            values = [_value(measure, good.get((arm, seed)), facts.get((arm, seed))) for seed in SEEDS]
            there = [round(value, 5) for value in values if value is not None]
            if there := there or list(before.get(label, {}).get(measure.name, ())):
                measured.setdefault(label, {})[measure.name] = there
    return measured


def _value(measure: Measure, result: Result | None, facts: Mapping[str, Any] | None) -> float | None:
    """None where neither has it: an older run did not read completions for it."""
    try:
        if result is not None:
            return measure.of(result)
        return None if facts is None or measure.fact is None else measure.fact(facts)
    except (KeyError, TypeError, IndexError, ValueError):
        return None


def _about(
    arm: Arm, good: Mapping[tuple[str, int], Result], committed: Mapping[str, Any] | None
) -> dict[str, Any]:
    results = [good[arm.name, seed] for seed in SEEDS if (arm.name, seed) in good]
    if len(results) < len(SEEDS) and committed:
        return dict(committed)
    return {
        "fingerprint": fingerprint(arm),
        "steps": [result.step for result in results],
        "seconds": [result.seconds for result in results],
        "checkpoint": results[0].checkpoint,
    }


def write(content: dict[str, Any]) -> None:
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return content


def problems(content: Mapping[str, Any], claims: tuple[Claim, ...] = CLAIMS) -> list[str]:
    """Why committed results do not speak for the claims as they stand."""
    complaints = []
    for claim in claims:
        entry = content["claims"].get(claim.id)
        if entry is None:
            complaints.append(f"{claim.id} has no mark: run benchmarks/claims.py")
            continue
        measures = [measure.name for measure in claim.measures]
        if {label: list(values) for label, values in entry["numbers"].items()} != dict.fromkeys(
            claim.arms, measures
        ):
            complaints.append(f"{claim.id}: its arms or measures are not those of the results")
        elif entry["mark"] != (mark := claim.mark(with_evidence(entry["numbers"], entry["evidence"]))):
            complaints.append(f"{claim.id}: marked {entry['mark']}, by its rule {mark}")
        complaints += [
            f"{claim.id}: {arm.name} has changed since it ran"
            for arm in claim.arms.values()
            if content["arms"].get(arm.name, {}).get("fingerprint") != fingerprint(arm)
        ]
    return complaints

"""`benchmarks/results/claims.json`: what was measured, claim by claim, small enough to be committed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from common.measure import machine
from common.runs import Result, stored

from claims.fixtures import ROOT, WORK
from claims.learned import LEARNING
from claims.ledger import SEEDS, Arm, Claim
from claims.registry import CLAIMS, arms

PATH = ROOT / "benchmarks" / "results" / "claims.json"
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


def found() -> dict[tuple[str, int], Result]:
    """Of the ledger's own runs and of those of the benchmark of learning, by arm and seed."""
    learned = {(f"learning/{name}", seed): result for (name, seed), result in stored(LEARNING).items()}
    return learned | stored(WORK)


def collect(found: Mapping[tuple[str, int], Result]) -> dict[str, Any]:
    """Claims of which a run is missing or failed are left out, and named on the terminal."""
    digests = {arm.name: {run.seed: run.digest for run in arm.runs()} for arm in arms()}
    good = {
        (name, seed): result
        for (name, seed), result in found.items()
        if result.ok and (name.startswith("learning/") or digests.get(name, {}).get(seed) == result.digest)
    }
    claims: dict[str, Any] = {}
    for claim in CLAIMS:
        if missing := [
            arm.name for arm in claim.arms.values() if not all((arm.name, s) in good for s in SEEDS)
        ]:
            print(f"{claim.id}: no results of {', '.join(missing)}")
            continue
        numbers = claim.numbers(good)
        claims[claim.id] = {"mark": claim.mark(numbers), "numbers": numbers}
    return {
        "machine": machine("reinforge", "torch", "transformers", "peft"),
        "seeds": list(SEEDS),
        "claims": claims,
        "arms": {arm.name: _about(arm, good) for arm in arms() if (arm.name, SEEDS[0]) in good},
        "curves": {
            name: {
                metric: [good[name, seed].train[metric][:CURVE_STEPS] for seed in SEEDS] for metric in metrics
            }
            for name, metrics in CURVES.items()
            if all((name, seed) in good for seed in SEEDS)
        },
    }


def _about(arm: Arm, good: Mapping[tuple[str, int], Result]) -> dict[str, Any]:
    results = [good[arm.name, seed] for seed in SEEDS if (arm.name, seed) in good]
    return {
        "fingerprint": fingerprint(arm),
        "steps": [result.step for result in results],
        "seconds": [result.seconds for result in results],
    }


def write(content: dict[str, Any]) -> None:
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return content


def problems(content: Mapping[str, Any], claims: tuple[Claim, ...] = CLAIMS) -> list[str]:
    """Why committed results do not speak for the claims as they stand."""
    found = []
    for claim in claims:
        entry = content["claims"].get(claim.id)
        if entry is None:
            found.append(f"{claim.id} has no mark: run benchmarks/claims.py")
            continue
        measures = [measure.name for measure in claim.measures]
        if {label: list(values) for label, values in entry["numbers"].items()} != dict.fromkeys(
            claim.arms, measures
        ):
            found.append(f"{claim.id}: its arms or measures are not those of the results")
        elif entry["mark"] != (mark := claim.mark(entry["numbers"])):
            found.append(f"{claim.id}: marked {entry['mark']}, by its rule {mark}")
        found += [
            f"{claim.id}: {arm.name} has changed since it ran"
            for arm in claim.arms.values()
            if content["arms"].get(arm.name, {}).get("fingerprint") != fingerprint(arm)
        ]
    return found

"""Write docs/algorithms.md: every preset with its slots, its source, and what its formulas are checked against.

What a part of an algorithm is checked against is said once per part, below; a preset's oracles follow from its slots.
`--check` writes nothing and fails when the page and the code differ. An oracle that is not there fails as well.
"""

import ast
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["REINFORGE_PLUGINS"] = "off"  # the page is about what everybody has

import learning_docs

from reinforge.presets import FAMILIES, PRESETS, Preset, cards

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "algorithms.md"
VECTORS = ROOT / "tests" / "vectors" / "algorithm_vectors.json"
TRL = ROOT / "tests" / "algorithm" / "test_trl.py"
GRPO = cards.algorithm_of("grpo", PRESETS["grpo"]).model_dump(mode="json")

INTRO = """# Algorithms

A variant is a way to fill four slots: shaping (rewards to one number), selection (what is trained on), advantage, and
loss. A preset names one; every slot can be given beside it, or instead of it. What each one does and when to choose it
is in [Job files](job-file.md#presets), on the form's Method, and in `reinforge presets show NAME`.

* **Slots**: what differs from GRPO's.
* **Confidence** that the formula is the authors': *high* read in their paper or code or in a maintained library,
  *medium* put together from independent accounts, *low* a short description filled in by us.
* **Checked against**: what runs in the tests, part by part; what a variant shares with GRPO is checked in GRPO's row.
  *TRL* is the loss of TRL {trl} itself, executed beside ours on random numbers, value and gradient to 1e-5: a case or
  test of `tests/algorithm/test_trl.py`. Names like `adv.rloo` are [vectors](#vectors): `test_vector[adv.rloo]` in
  `tests/algorithm/test_vectors.py`. *By hand* are numbers worked out in the test that is named, *properties* what must
  hold whatever the numbers are.
* **Learning**: right answers on the demo's held-out additions, before and at the end, and the steps to {stop}; medians
  of {seeds} seeds with smallest and largest. How, and what else was measured, is under [Learning](#learning).

This page is written from the code by `scripts/algorithm_docs.py`.
"""

Oracles = tuple[str, ...]
# An oracle is the id of a vector, `trl:` and a case or test of test_trl.py, or a test file.
SAME_NAME: dict[str, Oracles] = {
    name: (f"adv.{name}",)
    for name in ("dr_grpo", "rloo", "reinforce_pp", "opo", "gtpo", "grpo_s", "lampo", "gagpo")
}
SLOTS = {1: "shaping", 2: "selection", 3: "advantage", 4: "loss"}
TYPES: dict[str, dict[str, Oracles]] = {
    "shaping": {
        "mo_grpo": ("reward.mo_grpo",),
        "gdpo": ("reward.gdpo",),
        "pow3r": ("reward.pow3r",),
        "vpo": ("adv.vpo",),
    },
    "selection": {
        "dynamic_sampling": ("select.dynamic_sampling",),
        "gfpo": ("select.gfpo", "select.gfpo_token_efficiency_graded"),
        "gfpo_adaptive": ("select.gfpo_adaptive_k",),
        "guided_correction": ("tests/algorithm/test_selection.py",),
        "axpo": ("select.axpo",),
    },
    "advantage": {
        "process": ("adv.process_supervision",),
        "grpo_batch_std": ("adv.grpo.batch_std",),
        "reinforce_pp_baseline": ("adv.reinforce_pp_baseline.token",),
        "passk_max": ("adv.pass_at_k_max",),
        "length_corrected": ("loss.tic_grpo",),
        "eda": ("adv.edge_eda",),
        "gae": ("tests/algorithm/test_gae.py",),
        **SAME_NAME,
    },
    "loss.surrogate": {
        "cispo": ("trl:cispo", "loss.cispo.upper_only"),
        "sapo": ("trl:sapo", "loss.sapo"),
        "vespo": ("trl:vespo",),
        "gmpo": ("loss.gmpo",),
        "drpo": ("loss.drpo",),
        "dppo": ("loss.dppo_mask",),
        "upper_only": ("loss.tic_grpo",),
        "reinforce": ("tests/algorithm/test_loss_properties.py",),
    },
    "loss.aggregation": {
        "token_mean": ("trl:dapo", "agg.modes"),
        "constant": ("trl:dr_grpo", "loss.dr_grpo.constant"),
        "seq_sum_mean": ("trl:luspo", "agg.modes"),
        "lambda": ("loss.lambda_grpo",),
    },
    "loss.policy_tokens": {"top_entropy": ("trl:dapo_top_entropy", "loss.top_entropy_mask")},
    "loss.entropy": {"static": ("trl:grpo_entropy",)},
    "loss.off_policy_mask": {"sequence": ("trl:test_off_policy_sequence_mask", "loss.off_policy_mask")},
    "loss.mismatch": {"importance": ("trl:test_mismatch_correction", "loss.tis")},
    "loss.aux": {"hierarchy": ("loss.ih_grpo",)},
}
LEVELS: dict[str, Oracles] = {
    "sequence": ("trl:gspo", "loss.gspo"),
    "gspo_token": ("trl:gspo_token", "loss.gspo_token"),
    "trajectory": ("trl:test_trajectory_ratio_is_that_of_rloo",),
    "arithmetic": ("adv.grpo_s",),
    "action": ("tests/algorithm/test_loss_terms.py",),
}
ALWAYS: Oracles = ("adv.grpo.sample_std_eps1e-4", "trl:grpo", "loss.grpo.seq_mean")
"""GRPO's own, for presets that change no part."""


def part(algorithm: dict[str, Any], path: str) -> dict[str, Any]:
    for name in path.split("."):
        algorithm = algorithm[name]
    return algorithm


def named(oracles: dict[str, Oracles], path: str, kind: str) -> Oracles:
    if kind not in oracles:
        raise SystemExit(f"scripts/algorithm_docs.py: say what {path} `{kind}` is checked against")
    return oracles[kind]


def by_type(algorithm: dict[str, Any]) -> Iterator[Oracles]:
    """Of parts of another type than GRPO's."""
    for path, oracles in TYPES.items():
        kind = part(algorithm, path)["type"]
        if kind != part(GRPO, path)["type"] and kind != "identity":
            yield named(oracles, path, kind)


def by_value(algorithm: dict[str, Any]) -> Iterator[Oracles]:
    """Of values that bring in a formula of their own."""
    shaping, advantage, loss = algorithm["shaping"], algorithm["advantage"], algorithm["loss"]
    if shaping.get("soft_overlong", {}).get("weight"):
        yield ("reward.soft_overlong",)
    if shaping.get("kl", {}).get("beta"):
        yield ("kl.in_reward",)
    if advantage["type"] == "grpo" and advantage["std"] == "population":
        yield ("adv.grpo.population_std",)
    if advantage["type"] == "grpo" and advantage["eps"] == 1e-6:
        yield ("adv.grpo.sample_std_eps1e-6",)
    if loss["ratio_level"] != "token":
        yield named(LEVELS, "loss.ratio_level", loss["ratio_level"])
    clip = loss["surrogate"]
    if clip.get("eps_low") != clip.get("eps_high") and loss["ratio_level"] == "token":
        yield ("trl:dapo", "loss.dapo.clip_higher_token_mean")
    if clip.get("dual_clip"):
        yield ("trl:dual_clip", "loss.dual_clip")
    if clip.get("delta") and clip["type"] == "ppo_clip":
        yield ("trl:delta", "loss.two_sided_delta")
    if loss["kl"]["beta"] and loss["kl"]["estimator"] == "unbiased_k3":
        yield ("trl:grpo_unbiased_kl", "loss.grpo_with_unbiased_kl")
    elif loss["kl"]["beta"]:
        yield ("trl:grpo_k3", "loss.grpo_with_k3")


def oracles_of(name: str, preset: Preset) -> list[str]:
    algorithm = cards.algorithm_of(name, preset).model_dump(mode="json")
    found = [*by_type(algorithm), *by_value(algorithm)]
    if preset.job.get("rollout", {}).get("completions_per_prompt") == 2:
        found.append(("equiv.g2_dpo",))
    return list(dict.fromkeys(one for some in found or [ALWAYS] for one in some))


def trl_names() -> set[str]:
    """Cases of `LOSSES` and names of tests, read without importing TRL."""
    tree = ast.parse(TRL.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            names |= {str(key.value) for key in node.value.keys if isinstance(key, ast.Constant)}
    return names


def missing(oracles: set[str], vectors: set[str]) -> list[str]:
    cases = trl_names()

    def there(oracle: str) -> bool:
        if oracle.startswith("trl:"):
            return oracle.removeprefix("trl:") in cases
        return oracle in vectors or (ROOT / oracle).is_file()

    return sorted(oracle for oracle in oracles if not there(oracle))


def slots_text(preset: Preset) -> str:
    """`loss.surrogate` `ppo_clip`, eps_high 0.28; …"""

    def lines(value: dict[str, Any], path: str) -> Iterator[str]:
        own = [f"{key} {item}" for key, item in value.items() if key != "type" and not isinstance(item, dict)]
        kind = [f"`{value['type']}`"] if "type" in value else []
        if kind or own:
            yield f"{path} {', '.join(kind + own)}"
        for key, item in value.items():
            if isinstance(item, dict):
                yield from lines(item, f"{path}.{key}")

    filled = {**preset.slots, **preset.job}
    return "<br>".join(line for key, value in filled.items() for line in lines(value, key)) or "the defaults"


def oracle_text(oracles: list[str]) -> str:
    trl = [f"`{one.removeprefix('trl:')}`" for one in oracles if one.startswith("trl:")]
    vectors = [f"`{one}`" for one in oracles if not one.startswith(("trl:", "tests/"))]
    files = [
        f"{'properties' if 'properties' in one else 'by hand'}, `{one}`"
        for one in oracles
        if one[:6] == "tests/"
    ]
    return "<br>".join(([f"TRL {', '.join(trl)}"] if trl else []) + vectors + files)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def family_table(family: str, members: dict[str, Preset], learning: dict[str, Any]) -> str:
    lines = [
        f"## {family.capitalize()}",
        "",
        "| variant | slots | source | confidence | checked against | learning |",
        "|" + "---|" * 6,
    ]
    for name, preset in members.items():
        refused = " (refused by a single-turn job)" if cards.single_turn_refusal(name, preset) else ""
        cells = (
            f"[`{name}`](job-file.md#{anchor(name, preset)}) {preset.title}{refused}",
            slots_text(preset),
            preset.source,
            preset.confidence,
            oracle_text(oracles_of(name, preset)),
            learning_docs.column(name, learning),
        )
        lines.append(f"| {' | '.join(cell(text) for text in cells)} |")
    return "\n".join([*lines, ""])


def anchor(name: str, preset: Preset) -> str:
    """The address of a heading as Markdown renderers make it."""
    kept = (c for c in f"{name}: {preset.title}".lower() if c.isalnum() or c in "_- ")
    return "".join(kept).replace(" ", "-")


def vectors_table(vectors: list[dict[str, Any]]) -> str:
    lines = [
        "## Vectors",
        "",
        "Inputs and expected numbers in `tests/vectors/algorithm_vectors.json`, computed apart from this code. Where a",
        "library's or the authors' function was executed on the same inputs, it is named.",
        "",
        "| vector | slot | source | executed beside it | tolerance |",
        "|" + "---|" * 5,
    ]
    for one in vectors:
        beside = ", ".join(f"{each['function']}" for each in one["cross_checked"]) or "–"
        lines.append(
            f"| `{one['id']}` | {SLOTS[one['slot']]} | {cell(str(one['source']))} | {cell(beside)} | {one['atol']:g} |"
        )
    return "\n".join([*lines, ""])


def page(vectors: list[dict[str, Any]], learning: dict[str, Any]) -> str:
    tables = [family_table(family, members, learning) for family, members in FAMILIES.items()]
    intro = INTRO.format(trl="1.16.0", stop=learning["recipe"]["stop"], seeds=learning_docs.seeds(learning))
    return "\n".join([intro, *tables, learning_docs.section(learning), vectors_table(vectors)])


def main() -> int:
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]
    named = {oracle for name, preset in PRESETS.items() for oracle in oracles_of(name, preset)}
    if lost := missing(named, {one["id"] for one in vectors}):
        print(f"scripts/algorithm_docs.py names oracles that are not there: {', '.join(lost)}")
        return 1
    learning = learning_docs.load()
    if lost := learning_docs.problems(learning):
        print("\n".join(lost))
        return 1
    wanted = {PAGE: page(vectors, learning), learning_docs.PICTURE: learning_docs.picture(learning)}
    if "--check" in sys.argv:
        old = [
            path.name
            for path, text in wanted.items()
            if not path.is_file() or path.read_text("utf-8") != text
        ]
        if old:
            print(f"{' and '.join(old)} in docs out of date: run scripts/algorithm_docs.py")
        return bool(old)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

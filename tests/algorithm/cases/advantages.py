"""Slot 3: worked cases by variant. A variant with several unlike forms is told apart by inputs and params."""

from tests.algorithm.cases.base import Adapter, Case, Found, all_rows, group_rows, in_groups
from worker.algorithm.advantages import ADVANTAGES


def _grpo(case: Case) -> Found:
    rows, rewards = group_rows(case["inputs"]["rewards"])
    found = ADVANTAGES["grpo"](rows, rewards, all_rows(len(rewards)), eps=case["params"]["eps"])
    return {"advantages": in_groups(found, case["inputs"]["rewards"])}


def _dr_grpo(case: Case) -> Found:
    rows, rewards = group_rows(case["inputs"]["rewards"])
    found = ADVANTAGES["dr_grpo"](rows, rewards, all_rows(len(rewards)))
    return {"advantages": in_groups(found, case["inputs"]["rewards"])}


CASES: dict[str, Adapter] = {
    "GRPO": _grpo,
    "Dr. GRPO": _dr_grpo,
}

LATER: frozenset[str] = frozenset(
    {
        "adv.grpo.population_std",
        "adv.rloo",
        "adv.reinforce_pp",
        "adv.reinforce_pp_baseline.token",
        "adv.reinforce_pp_baseline.sequence",
        "adv.grpo.batch_std",
        "adv.opo",
        "adv.pass_at_k_max",
        "adv.process_supervision",
        "adv.edge_eda",
        "adv.gtpo",
        "adv.grpo_s",
        "adv.gagpo",
        "adv.lampo",
        "equiv.g2_dpo",
    }
)
"""Ids whose functions are still to come."""

"""Worked cases of parts that installed packages bring: the variant is the part's `type`, the params are its fields.

    slot 1  inputs `rewards_per_func` (groups of rows)          expected `reward`
    slot 2  inputs `rewards` (groups)                           expected `keep`, and metrics by name
    slot 3  inputs `rewards` (groups); params the part's fields expected `advantages` or `token_advantages`
    slot 4  inputs of the bundled `loss.*` cases                expected `loss`, `grad_logp`

Inputs may hold what the function reads besides: `lengths`, `mask`, `entropy`, `old_logp`, `ref_logp`.
"""

from typing import Any

import torch

from reinforge.algorithm.plugins import installed
from tests.algorithm.cases import losses
from tests.algorithm.cases.base import Adapter, Case, Outputs, all_rows, in_groups, rows_of, tensor
from worker.algorithm.advantages import advantages
from worker.algorithm.rows import Rows
from worker.algorithm.selection import select
from worker.algorithm.shaping import shape

SLOTS = {1: ("shaping",), 2: ("selection",), 3: ("advantage",), 4: ("surrogate", "aggregation")}
ROWS = {"entropy": "entropies", "old_logp": "old_logprobs", "ref_logp": "reference_logprobs"}
PLAIN_LOSS: dict[str, Any] = {
    "ratio_level": "token",
    "surrogate": {"type": "ppo_clip"},
    "aggregation": {"type": "seq_mean"},
    "kl": {"beta": 0.0},
}


def adapter_of(case: Case) -> Adapter | None:
    """None when no installed package brings the variant."""
    for name in SLOTS.get(case["slot"], ()):
        if case["variant"] in installed().parts[name]:
            return {"shaping": _shaping, "selection": _selection, "advantage": _advantage}.get(name, _loss)
    return None


def _slot(case: Case, name: str, *beside: str) -> dict[str, Any]:
    """The case's params as the specification takes them, those named in `beside` left out."""
    model = installed().parts[name][case["variant"]]
    params = {key: value for key, value in case["params"].items() if key not in beside}
    return model.model_validate({"type": case["variant"], **params}).model_dump()


def _rows(case: Case, groups: list[list[Any]], weights: list[float] | None = None) -> Rows:
    inputs = case["inputs"]
    more: dict[str, Any] = {ROWS[key]: tensor(inputs[key]) for key in ROWS.keys() & inputs.keys()}
    if "mask" in inputs:
        more["mask"] = tensor(inputs["mask"]).bool()
    elif "lengths" in inputs:
        more["lengths"] = [int(length) for length in tensor(inputs["lengths"]).flatten().tolist()]
    values = [row if isinstance(row, list) else [row] for group in groups for row in group]
    return rows_of(values, [number for number, group in enumerate(groups) for _ in group], weights, **more)


def _shaping(case: Case) -> Outputs:
    groups = case["inputs"]["rewards_per_func"]
    rows = _rows(case, groups, case["params"].get("weights"))
    return {"reward": in_groups(shape(_slot(case, "shaping", "weights"), rows, {}).rewards, groups)}


def _selection(case: Case) -> Outputs:
    groups = case["inputs"]["rewards"]
    rows = _rows(case, groups)
    selection = select(_slot(case, "selection"), rows, rows.values[:, 0], {})
    return {"keep": in_groups(selection.keep, groups), **selection.metrics}


def _advantage(case: Case) -> Outputs:
    groups = case["inputs"]["rewards"]
    rows = _rows(case, groups)
    credit = advantages(_slot(case, "advantage"), rows, rows.values[:, 0], all_rows(len(rows.values)))
    if credit.dim() == 2:
        return {"token_advantages": torch.where(rows.mask, credit, 0.0).tolist()}
    return {"advantages": in_groups(credit, groups)}


def _loss(case: Case) -> Outputs:
    name = "surrogate" if case["variant"] in installed().parts["surrogate"] else "aggregation"
    _, _, outputs = losses.run(case, PLAIN_LOSS | {name: _slot(case, name)})
    return outputs

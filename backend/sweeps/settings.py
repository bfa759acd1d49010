"""Choice of a sweep's next setting, by its method."""

from collections.abc import Sequence
from typing import Any

from backend.sweeps.cma_es import CmaEsSettingSampler
from backend.sweeps.planner import NextSetting, TrialRecord
from backend.sweeps.samplers import SettingSampler
from backend.sweeps.tpe import TpeSettingSampler
from reinforge.sweeps import SweepSpec, trials
from reinforge.sweeps.variations import label, random_setting

SAMPLERS: dict[str, type[SettingSampler]] = {"tpe": TpeSettingSampler, "cma_es": CmaEsSettingSampler}


def next_setting(spec: SweepSpec, records: Sequence[TrialRecord]) -> NextSetting:
    """The method's function that maps a setting's number to its name and parameters. Some methods use the
    results in `records`.
    """
    if spec.method in SAMPLERS:
        return SAMPLERS[spec.method](spec, records).next_setting

    def listed(setting: int) -> tuple[str, dict[str, Any]]:
        variation = trials(spec)[setting * len(spec.seed_values)]
        return variation.name, variation.parameters

    def drawn(setting: int) -> tuple[str, dict[str, Any]]:
        parameters = random_setting(spec, setting)
        return label(parameters), parameters

    return drawn if spec.method == "random" else listed

"""Samplers, which choose a sweep's next setting by the results so far."""

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from backend.sweeps.planner import TrialRecord, objective
from reinforge.sweeps import ParameterRange, SweepSpec
from reinforge.sweeps.variations import finite_values, is_numbers, label, random_setting, rounded

if TYPE_CHECKING:  # 0.3 s and 40 MB, for the process that plans a sweep with such a method
    from optuna.distributions import BaseDistribution

TPE_STARTUP = 10
"""Number of random settings before TPE chooses; in a short sweep, a third of its settings."""
FEWEST = 3
REPEATS = 10


class SettingSampler(ABC):
    def __init__(self, spec: SweepSpec, records: Sequence[TrialRecord]) -> None:
        self._spec = spec
        groups: dict[int, list[TrialRecord]] = defaultdict(list)
        for record in records:
            groups[record.setting].append(record)
        self._outcomes = [outcome(spec, group) for _, group in sorted(groups.items())]
        self._settings = {setting_key(group[0].parameters) for group in groups.values()}

    def next_setting(self, setting: int) -> tuple[str, dict[str, Any]]:
        is_random = self._is_random(setting)
        parameters = random_setting(self._spec, setting) if is_random else self._chosen(setting)
        if setting_key(parameters) in self._settings:
            parameters = next(self._new_combinations(), parameters)
        self._settings.add(setting_key(parameters))
        return label(parameters), parameters

    @abstractmethod
    def _is_random(self, setting: int) -> bool: ...

    @abstractmethod
    def _sample(self, seed: str) -> dict[str, int | float]:
        """Choose a setting, in Optuna's encoding."""

    @cached_property
    def _sampled(self) -> "dict[str, SampledParameter]":
        return {path: sampled_parameter(parameter) for path, parameter in self._spec.parameters.items()}

    @property
    def _distributions(self) -> "dict[str, BaseDistribution]":
        return {path: part.distribution for path, part in self._sampled.items()}

    def _encoded(self, parameters: dict[str, Any]) -> dict[str, int | float]:
        return {path: part.encode(parameters[path]) for path, part in self._sampled.items()}

    def _chosen(self, setting: int) -> dict[str, Any]:
        parameters: dict[str, Any] = {}
        for attempt in range(REPEATS):
            values = self._sample(f"{self._spec.seed}/{setting}/{attempt}")
            parameters = {path: part.decode(values[path]) for path, part in self._sampled.items()}
            if setting_key(parameters) not in self._settings:
                break
        return parameters

    def _new_combinations(self) -> Iterator[dict[str, Any]]:
        values = finite_values(self._spec)
        if values is None:
            return
        for combination in product(*values.values()):
            parameters = dict(zip(values, combination, strict=True))
            if setting_key(parameters) not in self._settings:
                yield parameters


@dataclass(frozen=True)
class SettingOutcome:
    parameters: dict[str, Any]
    is_open: bool
    is_complete: bool
    is_failed: bool
    """Whether the setting failed without a reward, and so counts as worse than settings with one."""
    reward: float | None
    evaluations: int

    @property
    def is_ignored(self) -> bool:
        return not self.is_open and not self.is_measured

    @property
    def is_measured(self) -> bool:
        return not self.is_open and (self.reward is not None or self.is_failed)


def outcome(spec: SweepSpec, trials: Sequence[TrialRecord]) -> SettingOutcome:
    rewards = [reward for trial in trials if (reward := objective(spec, trial)[0]) is not None]
    return SettingOutcome(
        parameters=trials[0].parameters,
        is_open=any(trial.is_open for trial in trials),
        is_complete=bool(rewards) and any(trial.status == "succeeded" for trial in trials),
        is_failed=not rewards and any(trial.status in ("failed", "refused") for trial in trials),
        reward=fmean(rewards) if rewards else None,
        evaluations=max(len(trial.rewards) for trial in trials),
    )


def startup_settings(spec: SweepSpec) -> int:
    return 1 if spec.method == "cma_es" else min(TPE_STARTUP, max(FEWEST, (spec.trials or 0) // 3))


@dataclass(frozen=True)
class SampledParameter:
    """A number in a range, or the index of a choice."""

    distribution: "BaseDistribution"
    choices: list[Any]
    scale: ParameterRange | None

    @property
    def lowest(self) -> int | float:
        return 0 if self.scale is None else self.encode(self.scale.min)

    def encode(self, value: Any) -> int | float:
        if self.scale is not None:
            return int(value) if self.scale.integer else float(value)
        return next(
            index for index, choice in enumerate(self.choices) if setting_key(choice) == setting_key(value)
        )

    def decode(self, value: Any) -> Any:
        return self.choices[value] if self.scale is None else rounded(self.scale, value)


def sampled_parameter(parameter: list[Any] | ParameterRange) -> SampledParameter:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(parameter, ParameterRange):
        if parameter.integer:
            whole = IntDistribution(int(parameter.min), int(parameter.max), log=parameter.log)
            return SampledParameter(whole, [], parameter)
        return SampledParameter(
            FloatDistribution(parameter.min, parameter.max, log=parameter.log), [], parameter
        )
    if is_numbers(parameter):
        return SampledParameter(IntDistribution(0, len(parameter) - 1), sorted(parameter), None)
    return SampledParameter(CategoricalDistribution(range(len(parameter))), parameter, None)


def setting_key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)

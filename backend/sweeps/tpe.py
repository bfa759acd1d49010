"""Settings that Optuna's TPE sampler chooses."""

import random
from functools import cached_property
from typing import TYPE_CHECKING

from backend.sweeps.samplers import SettingOutcome, SettingSampler, startup_settings

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial


class TpeSettingSampler(SettingSampler):
    def _is_random(self, setting: int) -> bool:
        measured = sum(outcome.is_measured for outcome in self._outcomes)
        return measured < startup_settings(self._spec)

    def _sample(self, seed: str) -> dict[str, int | float]:
        from optuna.samplers import TPESampler

        study = self._study
        study.sampler = TPESampler(seed=random.Random(seed).getrandbits(32), n_startup_trials=0)
        return study.ask(fixed_distributions=self._distributions).params

    @cached_property
    def _study(self) -> "Study":
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(study_name="sweep", direction="maximize")
        study.add_trials([self._trial(item) for item in self._outcomes if not item.is_ignored])
        return study

    def _trial(self, item: SettingOutcome) -> "FrozenTrial":
        from optuna.trial import TrialState, create_trial

        state = (
            TrialState.RUNNING if item.is_open
            else TrialState.COMPLETE if item.is_complete
            else TrialState.PRUNED
        )  # fmt: skip
        return create_trial(
            state=state,
            value=item.reward if state == TrialState.COMPLETE else None,
            params=self._encoded(item.parameters),
            distributions=self._distributions,
            intermediate_values=(
                {item.evaluations: item.reward}
                if state == TrialState.PRUNED and item.reward is not None
                else {}
            ),
        )

"""Sweeps: many jobs from one job and the settings to vary."""

from reinforge.sweeps.spec import MOST_TRIALS, ParameterRange, SweepSpec
from reinforge.sweeps.variations import Variation, check, job_of, trials

__all__ = ["MOST_TRIALS", "ParameterRange", "SweepSpec", "Variation", "check", "job_of", "trials"]

"""API for packages with their own algorithm (`docs/own-algorithm.md`).

Importing this module does not load these packages, so they can import it while being loaded.
"""

from reinforge.algorithm.advantage import AdvantageModel
from reinforge.algorithm.aggregation import AggregationModel
from reinforge.algorithm.base import fault_at
from reinforge.algorithm.preset import Preset
from reinforge.algorithm.selection import SelectionModel
from reinforge.algorithm.shaping import OutcomeShaping, ShapingModel
from reinforge.algorithm.surrogate import SurrogateModel

__all__ = [
    "AdvantageModel",
    "AggregationModel",
    "OutcomeShaping",
    "Preset",
    "SelectionModel",
    "ShapingModel",
    "SurrogateModel",
    "fault_at",
]

"""API for packages with their own algorithm (`docs/own-algorithm.md`).

Importing this module loads no such package, so such a package can import it while it is loaded itself.
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

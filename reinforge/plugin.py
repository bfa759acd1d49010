"""What a package with an algorithm of its own imports; `docs/own-algorithm.md` walks through one.

Nothing here looks for packages, so that a package can import it while it is being looked at. Functions get
`worker.algorithm.rows.Rows` and hand back what the built-in ones of their slot do.
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

"""Errors of writing and applying graders; each message says what to change."""


class GradingError(ValueError):
    """Base class. `code` is stable; the message says what to change."""

    code = "grading_error"


class TemplateSyntaxError(GradingError):
    """The template cannot be parsed."""

    code = "template_syntax"


class UnresolvedVariable(GradingError):
    """A template names a value that this row or completion lacks."""

    code = "invalid_variable"


class FormulaError(GradingError):
    """A formula that cannot be parsed (`position` is set) or has no finite value for these numbers."""

    code = "formula_error"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position
        """Index of the character at fault."""


class MetricUnavailable(GradingError):
    """A text similarity needs something that is not installed."""

    code = "unavailable"

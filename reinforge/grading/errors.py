"""Errors of writing and applying graders."""


class GradingError(ValueError):
    """Base class. `code` is stable; the message says what to change."""

    code = "grading_error"


class TemplateSyntaxError(GradingError):
    code = "template_syntax"


class UnresolvedVariable(GradingError):
    """A template names a value that the row or completion lacks."""

    code = "invalid_variable"


class FormulaError(GradingError):
    """Unparsable formula (`position` is set), or one without a finite value."""

    code = "formula_error"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position
        """Index of the invalid character."""


class MetricUnavailable(GradingError):
    """A text similarity needs something that is not installed."""

    code = "unavailable"

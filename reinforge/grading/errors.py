"""What goes wrong when a grader is written or applied; each says what to change."""


class GradingError(ValueError):
    """Base. `code` is stable; the message says what to change."""

    code = "grading_error"


class TemplateSyntaxError(GradingError):
    """A template that cannot be read, whatever the row."""

    code = "template_syntax"


class UnresolvedVariable(GradingError):
    """A template names something that this row or completion does not have. Never a value."""

    code = "invalid_variable"


class FormulaError(GradingError):
    """A formula that cannot be read (`position` is set) or has no finite value for these numbers."""

    code = "formula_error"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position
        """Index of the character at fault."""


class MetricUnavailable(GradingError):
    """A text similarity that needs something which is not installed here."""

    code = "unavailable"

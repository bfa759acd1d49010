"""Errors in the definition of a grader, and in its use."""


class GradingError(ValueError):
    code = "grading_error"


class TemplateSyntaxError(GradingError):
    code = "template_syntax"


class UnresolvedVariable(GradingError):
    code = "invalid_variable"


class FormulaError(GradingError):
    code = "formula_error"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class MetricUnavailable(GradingError):
    code = "unavailable"

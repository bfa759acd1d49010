"""Error in a tool's source."""

from reinforge.errors import InvalidInput


class ToolSourceError(InvalidInput):
    """Error: a source from which no schema can be made.

    `line`: the faulty line, if there is one. `reason`: the message without file and line.
    """

    default_code = "invalid_tool"

    def __init__(self, file: str, line: int | None, message: str, *, code: str, hint: str) -> None:
        place = f"{file}, line {line}" if line else file
        super().__init__(f"{place}: {message}", code=code, hint=hint)
        self.file, self.line, self.reason = file, line, message

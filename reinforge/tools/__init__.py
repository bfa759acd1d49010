"""Tools that a model may call: their schemas, read from source, and the statuses of a call."""

from reinforge.tools.arguments import check_arguments
from reinforge.tools.call_keys import Outcome, call_key, call_keys
from reinforge.tools.errors import ToolSourceError
from reinforge.tools.schema import TOOL_NAME, ToolFunction, ToolSchema
from reinforge.tools.source import check_reply, schemas_of, unique_schemas
from reinforge.tools.statuses import CALL_STATUSES, INVALID_CALLS, CallStatus

__all__ = [
    "CALL_STATUSES",
    "INVALID_CALLS",
    "TOOL_NAME",
    "CallStatus",
    "Outcome",
    "ToolFunction",
    "ToolSchema",
    "ToolSourceError",
    "call_key",
    "call_keys",
    "check_arguments",
    "check_reply",
    "schemas_of",
    "unique_schemas",
]

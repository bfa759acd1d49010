"""Definition of an RPC, and its requests and results as JSON."""

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from reinforge.errors import Unavailable

CallKind = Literal[
    "validate", "score", "render", "inspect_model", "inspect_adapter", "list_tools", "run_tools", "sample"
]

RequestT = TypeVar("RequestT", bound=BaseModel)
ModelT = TypeVar("ModelT", bound=BaseModel)
ResultT = TypeVar("ResultT", bound=BaseModel)
_LISTED = 3


class RpcModel(BaseModel):
    """Ignores unknown fields: server and worker may be of different releases."""

    model_config = ConfigDict(extra="ignore")


class NoResult(RpcModel):
    pass


@dataclass(frozen=True)
class Rpc(Generic[RequestT, ResultT]):
    kind: CallKind
    request: TypeAdapter[RequestT]
    result: TypeAdapter[ResultT]

    def read_request(self, payload: Any) -> RequestT:
        """Parse a request. Raises Unavailable `malformed_rpc` if it does not fit the type."""
        return _read(self.request, payload, f"The worker cannot read the request {self.kind!r}")

    def read_result(self, result: Any) -> ResultT:
        """Parse a result. Raises Unavailable `malformed_rpc` if it does not fit the type."""
        return _read(self.result, result, self._unreadable)

    def malformed_result(self, reason: str) -> Unavailable:
        return _malformed(self._unreadable, reason)

    @property
    def _unreadable(self) -> str:
        return f"The server cannot read the worker's result of {self.kind!r}"


def dump(model: BaseModel) -> dict[str, Any]:
    """JSON of the fields that are set. Raises ValueError if nested too deep."""
    return model.model_dump(mode="json", exclude_unset=True)


def _read(adapter: TypeAdapter[ModelT], value: Any, problem: str) -> ModelT:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        # Without the input, which may hold keys.
        faults = [
            f"{'.'.join(map(str, fault['loc'])) or 'payload'}: {fault['msg']}"
            for fault in error.errors(include_input=False, include_url=False, include_context=False)
        ]
        more = f" (and {len(faults) - _LISTED} more)" if len(faults) > _LISTED else ""
        raise _malformed(problem, "; ".join(faults[:_LISTED]) + more) from error


def _malformed(problem: str, reason: str) -> Unavailable:
    return Unavailable(
        f"{problem}: {reason}",
        code="malformed_rpc",
        hint="Are the server and its workers of one release? Update the older one.",
    )

"""Conventions of all `/v1` routes: error format, timestamps, lists."""

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from backend.http.errors import body_schema, validation_error
from backend.http.strict_json import StrictRoute
from reinforge.errors import InvalidInput
from reinforge.schemas.openai_common import WireList, WireObject

T = TypeVar("T", bound=WireObject)


class OpenAIRoute(StrictRoute):
    """Route that answers an invalid request with 400 instead of 422."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def as_bad_request(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestValidationError as error:
                invalid = validation_error(error.errors(), error.body, body_schema(request))
                invalid.status = 400
                raise invalid from error
            except InvalidInput as error:
                error.status = 400
                raise

        return as_bad_request


def seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def listed(objects: Sequence[T], *, has_more: bool) -> WireList[T]:
    return WireList(
        data=list(objects),
        has_more=has_more,
        first_id=objects[0].id if objects else None,
        last_id=objects[-1].id if objects else None,
    )


def unknown_after(after: str) -> InvalidInput:
    return InvalidInput(
        f"`after` is not an id of this list: {after[:100]!r}.",
        code="invalid_cursor",
        param="after",
        hint="Pass the id of the last object of the page before.",
    )

"""JSON replies and errors of an engine host."""

import logging

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reinforge.errors import ReinforgeError

log = logging.getLogger(__name__)


def shape_response(shape: BaseModel, status: int = 200) -> Response:
    return Response(shape.model_dump_json(), status, media_type="application/json")


def error_response(error: ReinforgeError) -> Response:
    status = error.status if error.status < 600 else 500
    return JSONResponse(error.envelope(), status)


async def on_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, ReinforgeError)
    return error_response(error)


async def on_fault(_: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    return error_response(ReinforgeError("The engine host failed; its log has the reason."))

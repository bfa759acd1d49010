"""Response compression: only of large JSON in one piece, for clients that accept it."""

import gzip

import anyio
import httpx
import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse

from backend.http.compression import LEAST_BYTES, CompressJson

LARGE = b"[" + b"1," * LEAST_BYTES + b"1]"


async def fetch(response: Response, accepts: str = "gzip") -> httpx.Response:
    transport = httpx.ASGITransport(CompressJson(response))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        return await client.get("/", headers={"accept-encoding": accepts})


def json_response(body: bytes = LARGE, **headers: str) -> Response:
    return Response(body, media_type="application/json", headers=headers)


def pieces(media_type: str) -> StreamingResponse:
    return StreamingResponse(iter([LARGE, LARGE]), media_type=media_type)


@pytest.mark.parametrize("accepts", ["gzip", "br;q=1.0, GZIP;q=0.5", "deflate, gzip, br", "*"])
def test_large_json_is_packed(accepts: str) -> None:
    response = anyio.run(fetch, json_response(etag='"a"'), accepts)
    assert response.headers["content-encoding"] == "gzip"
    assert int(response.headers["content-length"]) < len(LARGE) / 10
    assert (response.headers["etag"], response.headers["vary"]) == ('"a-gzip"', "accept-encoding")
    assert response.content == LARGE


@pytest.mark.parametrize("accepts", ["identity", "br", "gzip;q=0", "gzip; q=0.0, br", "xgzip", ""])
def test_nobody_gets_what_they_do_not_accept(accepts: str) -> None:
    response = anyio.run(fetch, json_response(etag='"a"'), accepts)
    assert "content-encoding" not in response.headers
    assert (response.headers["etag"], response.content) == ('"a"', LARGE)


@pytest.mark.parametrize(
    "response",
    [
        JSONResponse({"small": True}),
        pieces("application/json"),
        pieces("text/event-stream"),
        Response(LARGE, media_type="application/gzip"),
        Response(LARGE, media_type="text/html"),
        Response(status_code=304, headers={"content-type": "application/json", "etag": '"a"'}),
    ],
    ids=["small", "streamed", "events", "file", "page", "unchanged"],
)
def test_everything_else_passes_as_it_is(response: Response) -> None:
    fetched = anyio.run(fetch, response)
    assert "content-encoding" not in fetched.headers
    assert fetched.headers.get("etag") in (None, '"a"')


def test_what_is_packed_already_is_left_alone() -> None:
    packed = gzip.compress(LARGE)
    response = anyio.run(fetch, json_response(packed, **{"content-encoding": "gzip"}))
    assert response.content == LARGE

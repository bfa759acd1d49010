"""A server-sent frame is one line for every reader and carries its data unchanged."""

import json

import orjson

from backend.http.sse import frame


def test_no_reader_ends_a_line_inside_of_the_data() -> None:
    content = {"text": "a\u2028b\u2029c\u0085d\ne\r\nf\x1cg\x0bh ü 漢 \U0001f600"}
    made = frame(orjson.dumps(content))
    [line, empty] = made.decode().splitlines()
    assert (line[:6], empty) == ("data: ", "")
    assert json.loads(line[6:]) == content

"""Server-sent events with JSON data."""

import re

_UNICODE_ENDS = re.compile(b"\xc2\x85|\xe2\x80[\xa8\xa9]")
_ESCAPED = {b"\xc2\x85": b"\\u0085", b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}


def frame(content: bytes) -> bytes:
    return b"data: %s\n\n" % _UNICODE_ENDS.sub(lambda match: _ESCAPED[match[0]], content)

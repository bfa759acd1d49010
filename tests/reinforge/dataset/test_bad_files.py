"""One clear error for every bad file: (name, bytes) → (code, line, column)."""

import codecs
import gzip
import io
import json
import random
import zipfile
from pathlib import Path

import pytest

from reinforge.dataset import DatasetError, DatasetLimits, inspect, iter_rows

GOOD = b'{"prompt": "1+1=", "answer": "2"}\n'


def zip_bytes() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("train.jsonl", GOOD)
    return buffer.getvalue()


def messages(content: object, role: str = "user") -> bytes:
    return json.dumps({"messages": [{"role": role, "content": content}]}).encode()


FILES = [
    ("empty", "a.jsonl", b"", "empty_file", 1, 1),
    ("only blank lines", "a.jsonl", b"\xef\xbb\xbf\n  \r\n", "empty_file", 1, 1),
    ("empty CSV", "a.csv", b"", "empty_file", 1, 1),
    ("CSV with a header only", "a.csv", b"prompt,answer\n", "empty_file", 1, 1),
    # What is not a dataset at all.
    ("ZIP renamed", "a.jsonl", zip_bytes(), "wrong_format", 1, 1),
    ("gzip renamed", "a.csv", gzip.compress(GOOD), "wrong_format", 1, 1),
    ("PDF renamed", "a.jsonl", b"%PDF-1.7\n", "wrong_format", 1, 1),
    ("Parquet renamed", "a.jsonl", b"PAR1\x15\x04\x15", "wrong_format", 1, 1),
    ("text named Parquet", "a.parquet", GOOD, "wrong_format", 1, 1),
    ("unknown ending", "a.txt", b"hello\n", "unknown_format", 1, 1),
    ("damaged Parquet", "a.parquet", b"PAR1" + b"\x15" * 90 + b"PAR1", "corrupt_parquet", None, None),
    # Encodings.
    ("UTF-16 with mark", "a.jsonl", GOOD.decode().encode("utf-16"), "wrong_encoding", 1, 1),
    ("UTF-16 without mark", "a.jsonl", GOOD.decode().encode("utf-16-le"), "wrong_encoding", 1, 1),
    ("UTF-32", "a.csv", codecs.BOM_UTF32_LE + "a".encode("utf-32-le"), "wrong_encoding", 1, 1),
    ("Latin-1 after UTF-8", "a.jsonl", GOOD + '{"prompt": "é'.encode() + b'\xe9"}', "wrong_encoding", 2, 14),
    ("Latin-1 in CSV", "a.csv", b"prompt\nna\xefve\n", "wrong_encoding", 2, 3),
    ("UTF-8 cut off", "a.jsonl", b'{"prompt": "\xe2\x82', "wrong_encoding", 1, 13),
    ("UTF-8 surrogate", "a.jsonl", b'{"prompt": "\xed\xa0\x80"}', "wrong_encoding", 1, 13),
    ("NUL byte", "a.jsonl", GOOD + b'{"prompt": "a\0b"}', "nul_byte", 2, 14),
    ("NUL byte after umlauts", "a.jsonl", '{"prompt": "äö\0"}'.encode(), "nul_byte", 1, 15),
    ("NUL byte in CSV", "a.csv", b"prompt\na\0\n", "nul_byte", 2, 2),
    ("all NUL bytes", "a.jsonl", bytes(100), "nul_byte", 1, 1),
    ("escaped NUL", "a.jsonl", GOOD + rb'{"prompt": "a\u0000"}', "nul_byte", 2, 14),
    # JSON.
    ("truncated object", "a.jsonl", GOOD + b'{"prompt": "x", ', "truncated_json", 2, 16),
    ("truncated string", "a.jsonl", GOOD + b'{"prompt": "x', "truncated_json", 2, 12),
    ("truncated in the middle", "a.jsonl", b'{"prompt": [\r\n' + GOOD, "truncated_json", 1, 13),
    ("indented JSON", "a.json", b'{\n  "prompt": "x"\n}\n', "truncated_json", 1, 2),
    ("two objects on a line", "a.jsonl", b'{"prompt": "x"} {"prompt": "y"}', "invalid_json", 1, 17),
    ("Python dict", "a.jsonl", b"{'prompt': 'x'}", "invalid_json", 1, 2),
    ("missing comma", "a.jsonl", GOOD * 2 + b'{"prompt": "x" "a": 1}', "invalid_json", 3, 16),
    ("raw control character", "a.jsonl", b'{"prompt": "a\tb"}', "invalid_json", 1, 14),
    ("duplicate key", "a.jsonl", GOOD + b'{"prompt": "a", "prompt": "b"}', "duplicate_key", 2, 17),
    ("duplicate key, escaped", "a.jsonl", rb'{"prompt": "a", "\u0070rompt": 1}', "duplicate_key", 1, 17),
    ("duplicate inner key", "a.jsonl", b'{"prompt": "a", "x": [{"b": 1, "b": 1}]}', "duplicate_key", 1, 32),
    ("NaN", "a.jsonl", b'{"prompt": "NaN", "x": NaN}', "not_finite", 1, 24),
    ("minus Infinity", "a.jsonl", b'{"prompt": "a", "x": [1, -Infinity]}', "not_finite", 1, 26),
    ("float overflow", "a.jsonl", b'{"prompt": "a", "x": 1e999}', "not_finite", 1, 22),
    ("2**63", "a.jsonl", b'{"prompt": "a", "x": 9223372036854775808}', "integer_too_large", 1, 22),
    ("5000 digits", "a.jsonl", b'{"x": ' + b"9" * 5000 + b"}", "integer_too_large", 1, 7),
    ("lone high surrogate", "a.jsonl", rb'{"prompt": "\ud83d"}', "lone_surrogate", 1, 13),
    ("lone low surrogate", "a.jsonl", rb'{"prompt": "\ud83d\ude00 \ude00"}', "lone_surrogate", 1, 26),
    ("nested too deep", "a.jsonl", b'{"x": ' + b"[" * 64 + b"]" * 64 + b"}", "nesting_too_deep", 1, 70),
    ("nested past the stack", "a.jsonl", b"[" * 200_000, "nesting_too_deep", 1, 65),
    ("array of rows", "a.json", b'[{"prompt": "a"}]', "row_not_an_object", 1, 1),
    ("string row", "a.jsonl", GOOD + b' "prompt"', "row_not_an_object", 2, 2),
    ("null row", "a.jsonl", b"null", "row_not_an_object", 1, 1),
    ("unnamed key", "a.jsonl", b'{"prompt": "a", "": 1}', "unnamed_column", 1, 21),
    # Prompts.
    ("empty prompt", "a.jsonl", GOOD + b'{"answer": 1, "prompt": " "}', "empty_prompt", 2, 25),
    ("null prompt", "a.jsonl", b'{"prompt": null}', "empty_prompt", 1, 12),
    ("number prompt", "a.jsonl", b'{"prompt": 3}', "wrong_type", 1, 12),
    ("row without prompt", "a.jsonl", GOOD + b'{"answer": "2"}', "missing_prompt", 2, 1),
    ("messages as text", "a.jsonl", b'{"messages": "hi"}', "wrong_type", 1, 14),
    ("messages as object", "a.jsonl", b'{"messages": {"role": "user"}}', "wrong_type", 1, 14),
    ("no messages", "a.jsonl", b'{"messages": []}', "empty_prompt", 1, 14),
    ("message as text", "a.jsonl", b'{"messages": ["hi"]}', "wrong_type", 1, 15),
    ("content as number", "a.jsonl", messages(3), "wrong_type", 1, 43),
    ("content missing", "a.jsonl", b'{"messages": [{"role": "user"}]}', "wrong_type", 1, 15),
    ("content null", "a.jsonl", messages(None), "wrong_type", 1, 43),
    ("picture", "a.jsonl", messages([{"type": "image_url"}]), "unsupported_content", 1, 44),
    ("text part without text", "a.jsonl", messages([{"type": "text", "text": 1}]), "wrong_type", 1, 69),
    ("unknown role", "a.jsonl", messages("x", "human"), "unknown_role", 1, 24),
    ("no role", "a.jsonl", b'{"messages": [{"content": "x"}]}', "unknown_role", 1, 15),
    ("ends with the answer", "a.jsonl", messages("42", "assistant"), "last_message", 1, 15),
    ("last message empty", "a.jsonl", messages(""), "empty_prompt", 1, 43),
    ("messages in CSV", "a.csv", b'id,messages\n1,"[]"\n', "wrong_type", 2, 3),
    ("empty prompt in CSV", "a.csv", b'answer,prompt\n"1\n2",\n', "empty_prompt", 3, 4),
    # CSV.
    ("too few fields", "a.csv", b"prompt,answer\na,1\nb\n", "ragged_row", 3, 2),
    ("too many fields", "a.csv", b"prompt,answer\r\na,1,2\r\n", "ragged_row", 2, 5),
    ("too many after a quote", "a.csv", b'prompt,answer\n"a,\nb",1,2\n', "ragged_row", 3, 6),
    ("duplicate header", "a.csv", b"prompt,answer,prompt\na,1,b\n", "duplicate_column", 1, 15),
    ("unnamed header", "a.csv", b",prompt\n0,a\n", "unnamed_column", 1, 1),
    ("quote never closed", "a.csv", b'prompt,answer\na,"b\nc,d\n', "invalid_csv", 2, 3),
    ("text after a quote", "a.csv", b'prompt,answer\n"a"b,1\n', "invalid_csv", 2, 4),
    ("old Mac line ends", "a.csv", b"prompt,answer\ra,1\r", "invalid_csv", 1, 14),
]

OF_THE_FILE = ("empty_file", "wrong_format", "unknown_format", "corrupt_parquet")


@pytest.mark.parametrize(
    ("name", "content", "code", "line", "column"),
    [case[1:] for case in FILES],
    ids=[case[0] for case in FILES],
)
def test_bad_file(
    tmp_path: Path, name: str, content: bytes, code: str, line: int | None, column: int | None
) -> None:
    path = tmp_path / "upload"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        inspect(path, name)
    error = caught.value
    assert (error.code, error.line, error.column) == (code, line, column), error.message
    assert error.status == 422
    assert error.hint
    if code in OF_THE_FILE or "UTF-16" in error.message or "UTF-32" in error.message:
        assert error.excerpt is None
    else:  # a fault of a line shows the line
        assert error.excerpt is not None
        assert len(error.excerpt) < 900 and error.excerpt.isprintable()
    json.dumps(error.envelope()).encode()


def test_the_envelope_carries_the_place(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD + b'{"prompt": "' + b"x" * 500 + b'", "prompt": ""}')
    with pytest.raises(DatasetError, match="appears twice") as caught:
        inspect(path)
    error = caught.value
    assert str(error).startswith("line 2, column 516: ")
    assert error.excerpt is not None and error.caret is not None
    assert error.excerpt[error.caret :] == '"prompt": ""}'
    assert len(error.excerpt) <= 202
    detail = error.envelope()["error"]["errors"][0]
    assert (detail["line"], detail["column"], detail["code"]) == (2, 516, "duplicate_key")


def test_invisible_characters_are_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"prompt": "a\0b"}')
    with pytest.raises(DatasetError) as caught:
        inspect(path)
    assert caught.value.excerpt == '{"prompt": "a\\x00b"}'


@pytest.mark.parametrize(
    ("limits", "content", "code"),
    [
        (DatasetLimits(max_bytes=10), GOOD, "file_too_large"),
        (DatasetLimits(max_row_bytes=10), GOOD, "row_too_large"),
        (DatasetLimits(max_rows=2), GOOD * 3, "too_many_rows"),
        (DatasetLimits(max_decoded_bytes=50), GOOD * 3, "too_many_rows"),
        (DatasetLimits(max_columns=1), GOOD, "too_many_columns"),
    ],
)
def test_over_a_limit_is_413(tmp_path: Path, limits: DatasetLimits, content: bytes, code: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        inspect(path, limits=limits)
    assert (caught.value.code, caught.value.status) == (code, 413)
    assert caught.value.line is None or '{"prompt": ' in str(caught.value.excerpt)


def test_an_unclosed_quote_does_not_read_the_whole_file_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'prompt\n"open\n' + b"text\n" * 10_000)
    with pytest.raises(DatasetError) as caught:
        inspect(path, limits=DatasetLimits(max_row_bytes=1000))
    assert (caught.value.code, caught.value.line, caught.value.column) == ("invalid_csv", 2, 1)


def test_rows_before_the_fault_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD * 2 + b"oops")
    rows = iter_rows(path)
    assert [next(rows)["answer"], next(rows)["answer"]] == ["2", "2"]
    with pytest.raises(DatasetError) as caught:
        next(rows)
    assert caught.value.line == 3


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_any_damage_is_one_error_with_a_place_inside_the_file(tmp_path: Path, name: str) -> None:
    whole = 'prompt,answer\r\n"say ""é"",\nnow",1\nb,😀\n'.encode() * 2
    if name == "a.jsonl":
        whole = '{"prompt": "é \\ud83d\\ude00", "x": [1, 2e3, {"y": null}], "z": true}\r\n'.encode() * 3
    pieces = [bytes([byte]) for byte in range(256)]
    pieces += [
        b'"',
        b"\\",
        b"{",
        b"}",
        b",",
        b"\n",
        b"\\ud800",
        b"NaN",
        b'"prompt": 1, ',
        b"9" * 30,
        b"",
    ] * 10
    generator = random.Random(0)
    path = tmp_path / name
    refused = 0
    for _ in range(500):
        at, length = generator.randrange(len(whole)), generator.randrange(5)
        damaged = whole[:at] + generator.choice(pieces) + whole[at + length :]
        path.write_bytes(damaged)
        try:
            inspect(path)
        except DatasetError as error:
            refused += 1
            lines = damaged.decode(errors="surrogateescape").split("\n")
            assert error.line is not None and error.column is not None
            assert 1 <= error.line <= len(lines)
            assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    assert refused > 200

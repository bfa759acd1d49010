"""No reader of strangers' text takes more time or memory than its input explains, and no reader is forgotten."""

import ast
import importlib
import logging
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.fuzz import growth, parsers, parsing
from tests.fuzz.elsewhere import ELSEWHERE

ROOT = Path(__file__).resolve().parents[2]
DECODERS = {
    *("loads", "load", "safe_load", "validate_json", "model_validate_json", "b64decode", "urlsafe_b64decode"),
    *(
        "fromisoformat",
        "urlsplit",
        "literal_eval",
        "iter_sse",
        "parse_options_header",
        "ParquetFile",
        "passages",
    ),
}
MODULES_THAT_DECODE = {"re", "csv", "tarfile", "ast", "zipfile", "zlib", "gzip", "struct", "tomllib", "html"}
NOT_DECODING = {
    "escape",
    "pack",
    "TarInfo",
    "writer",
    "compress",
    "compressobj",
    "walk",
    "unparse",
    "Struct",
    "calcsize",
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The library for forms logs each body that is none."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(
    ("number", "parser"), [pytest.param(*pair, id=pair[1].name) for pair in enumerate(parsers.PARSERS)]
)
def test_cost_grows_no_faster_than_the_input(number: int, parser: parsers.Parser) -> None:
    assert list(parsing.faults(parser, number, parsing.CI)) == []


def test_every_module_that_decodes_is_listed() -> None:
    """A new reader gets an entry in `parsers.py`, or a reason in `elsewhere.py` why nobody strange writes its input."""
    tried = {parser.module for parser in parsers.PARSERS}
    covered = {module for modules in ELSEWHERE.values() for module in modules}
    decoding = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in ("backend", "reinforge", "worker")
        for path in (ROOT / room).rglob("*.py")
        if _decodes(path) and not str(path.relative_to(ROOT)).startswith(parsers.IN_THE_SANDBOX)
    }
    assert decoding - tried - covered == set(), "readers that nobody has looked at"
    assert covered - decoding == set(), "no such readers any more"
    assert tried & covered == set(), "in both lists"
    for module in tried:
        importlib.import_module(module)


def _decodes(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in DECODERS:
            return True
        if not isinstance(called, ast.Attribute) or called.attr in NOT_DECODING:
            continue
        owner = called.value.id if isinstance(called.value, ast.Name) else ""
        if called.attr in DECODERS or owner in MODULES_THAT_DECODE:
            return True
    return False


# ── The fuzzer finds what it is for ───────────────────────────────────────────────────────────────────────────────────


def _faults_of(read: object, seed: str, largest: int = 65_536) -> list[str]:
    prepare = parsers.text(read)  # type: ignore[arg-type]
    parser = parsers.Parser("self-test", prepare, (seed,), largest=largest, general=False)
    return list(parsing.faults(parser, 0, parsing.CI))


def test_a_quadratic_pattern_is_detected() -> None:
    pattern = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
    assert any("joined by '': time" in fault for fault in _faults_of(pattern.findall, "{{"))


def test_a_quadratic_loop_is_detected() -> None:
    def read(content: str) -> int:
        return sum(sum(range(place)) for place in range(len(content)))

    assert any("time" in fault for fault in _faults_of(read, "ab", 4096))


@pytest.mark.parametrize("repeats", [1, 30])
def test_a_quadratic_pattern_is_detected_however_fast_the_machine_is(repeats: int) -> None:
    pattern = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)

    def read(content: str) -> None:
        for _ in range(repeats):
            pattern.findall(content)

    breach = growth.time_breach(lambda size: partial(read, "{{" * (size // 2)), 65_536)
    assert breach is not None and breach.what == "time"


def test_a_slow_linear_reader_is_detected() -> None:
    faults = _faults_of(lambda content: [len(str(list(range(1000)))) for _ in content], "ab", 4096)
    assert any("time" in fault for fault in faults)


def test_a_small_input_that_becomes_large_is_detected() -> None:
    faults = _faults_of(lambda content: "x" * content.count("9") * 4096, "9", 4096)
    assert any("memory" in fault for fault in faults)


def test_an_error_that_nobody_expects_is_detected() -> None:
    def depth(content: str) -> int:
        return 1 + depth(content[1:]) if content.startswith("[") else 0

    assert any("RecursionError" in fault for fault in _faults_of(depth, "["))


def test_a_linear_reader_is_not() -> None:
    assert _faults_of(lambda content: [ord(character) for character in content], "[ab") == []

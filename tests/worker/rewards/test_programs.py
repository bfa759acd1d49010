"""Code by hidden tests: which text is the program, what counts as the expected output, what a row's score says."""

from collections.abc import Sequence

import pytest

from worker.rewards.programs.runner import CodeScore, CodeTests, extract_code, score_code
from worker.sandbox import ProgramLimits, ProgramResult, ProgramRun, ProgramsOutcome

PROGRAM = "```python\nprint(1)\n```"


class Fake:
    """Answers each run with the next result and remembers what it was asked."""

    def __init__(self, *results: ProgramResult) -> None:
        self.results, self.requests = list(results), list[tuple[str, Sequence[ProgramRun]]]()

    def __call__(self, source: str, runs: Sequence[ProgramRun], limits: ProgramLimits) -> ProgramsOutcome:
        self.requests.append((source, runs))
        return ProgramsOutcome("ok", [self.results.pop(0) for _ in runs])


def score(tests: object, *outputs: str | ProgramResult, **settings: object) -> CodeScore:
    results = [ProgramResult("ok", o) if isinstance(o, str) else o for o in outputs]
    return score_code(PROGRAM, {"tests": tests}, CodeTests(**settings), Fake(*results))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        ("```python\na\n```", "a"),
        ("text\n```\na\n```\nmore", "a"),
        ("```py\na\n```\n```python3\nb\n```", "b"),
        ("```python\na\n```\n```json\n{}\n```", "a"),
        ("```bash\nls\n```", None),
        ("```python\nunfinished", None),
        ("```python\na\n```\n```python\nunfinished", "a"),
        ("no code", None),
        ("```python\n\n```", None),
        ("  ```Python\n  a\n  ```", "  a"),
        ("````python\na\n````", "a"),
        ("", None),
        ("```\n" * 100_001, None),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_the_program_is_the_last_closed_block(completion: str, program: str | None) -> None:
    assert extract_code(completion) == program


def test_the_whole_text_may_be_the_program() -> None:
    assert extract_code("    return 1", "text") == "    return 1"
    assert extract_code(" \n", "text") is None
    fake = Fake(ProgramResult("ok", "1"))
    item = {"tests": ["assert f() == 1"], "prompt": "def f():"}
    settings = CodeTests(code="text", prefix="prompt")
    assert score_code("    return 1", item, settings, fake).value == 1.0
    assert fake.requests == [("def f():\n    return 1", [ProgramRun(call="f()")])]


@pytest.mark.parametrize(
    ("how", "tolerance", "got", "expected", "fits"),
    [
        ("lines", 0.0, "1 \n2\n\n", "1\n2", True),
        ("lines", 0.0, "1\r\n2", "1\n2\n", True),
        ("lines", 0.0, "1 2", "1  2", False),
        ("lines", 0.0, "1\n\n2", "1\n2", False),
        ("lines", 0.0, "", "", True),
        ("words", 0.0, "1  2\n3", "1 2 3", True),
        ("words", 0.0, "1.0", "1", False),
        ("words", 1e-6, "1.0", "1", True),
        ("words", 1e-6, "1.001", "1", False),
        ("words", 1e-6, "nan", "1", False),
        ("words", 1e-6, "1 2", "1", False),
        ("words", 1e-6, "YES", "yes", False),
        ("exact", 0.0, "1\n", "1", False),
        ("exact", 0.0, "1\n", "1\n", True),
    ],
)
def test_outputs_of_scripts(how: str, tolerance: float, got: str, expected: str, fits: bool) -> None:
    result = score([{"input": "", "output": expected}], got, output=how, tolerance=tolerance)
    assert result.value == float(fits)


@pytest.mark.parametrize(
    ("tolerance", "got", "fits"),
    [
        (0.0, '[0.3333333,"a"]', False),
        (1e-3, '[0.3333,"a"]', True),
        (1e-3, '[0.3333,"b"]', False),
        (1e-3, '[0.3333,"a",1]', False),
        (1e-3, '["a",0.3333]', False),
        (1e-3, '[-0.3333,"a"]', False),
        (1e-3, '\\"' * 30_000 + "\\", False),
        (1e-3, '"' * 65_535, False),
        (1e-3, "9" * 65_535, False),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_values_of_calls(tolerance: float, got: str, fits: bool) -> None:
    tests = [{"call": "f()", "expected": [1 / 3, "a"]}]
    assert score(tests, got, tolerance=tolerance).value == float(fits)


@pytest.mark.parametrize("text", ["inf", "-inf", "1e400", "nan"])
def test_no_number_is_near_to_infinity(text: str) -> None:
    test = [{"input": "", "output": text}]
    words = {"output": "words", "tolerance": 1e-3}
    assert score(test, "7", **words).value == 0
    assert score(test, text, **words).value == 1


def test_a_score_tells_which_tests_failed_and_why() -> None:
    tests = [{"input": "", "output": str(i)} for i in range(4)]
    failing = ProgramResult("exception", "1", notes="warned", message="ValueError: no\n  line 1")
    result = score(tests, "0", failing, "7", ProgramResult("timeout", message="longer than 5 s"))
    assert (result.status, result.value, result.prints) == ("ok", 0.25, "warned")
    assert result.parts == {"passed": 1.0, "tests": 4.0, "in_process": 0.0}
    assert result.criteria == {"test 1": 1.0, "test 2": 0.0, "test 3": 0.0, "test 4": 0.0}
    assert result.reason == (
        "1 of 4 tests passed; test 2: exception, ValueError: no; test 3: expected '2', got '7'; "
        "test 4: timeout, longer than 5 s"
    )
    assert score(tests, "0", "1", "2", "4", all_or_nothing=True).value == 0.0
    assert score(tests, "0", "1", "2", "3", all_or_nothing=True).value == 1.0


def test_what_is_expected_is_never_sent() -> None:
    fake = Fake(*[ProgramResult("ok", "1")] * 4)
    tests = [
        "assert f(1) == 424242",
        {"call": "f(2)", "expected": 424242},
        {"input": "3", "output": "424242"},
    ]
    score_code(PROGRAM, {"tests": [*tests, "x = 5\nassert f(x) == 424242"]}, CodeTests(), fake)
    assert len(fake.requests) == 2 and "x = 5" in fake.requests[1][0]
    assert "424242" not in repr(fake.requests)


def test_a_completion_without_a_program_scores_nothing_and_runs_nothing() -> None:
    fake = Fake()
    result = score_code("I cannot.", {"tests": ["assert f(1) == 1"]}, CodeTests(), fake)
    assert (result.status, result.value, fake.requests) == ("ok", 0.0, [])
    assert "no closed code block" in (result.reason or "")


def test_faults_of_the_row_and_of_the_sandbox_are_no_zeros() -> None:
    missing = score_code(PROGRAM, {}, CodeTests(), Fake())
    assert missing.status == "bad_value" and "no column 'tests'" in (missing.message or "")
    assert score(["assert g(1)"]).status == "bad_value"
    assert score(3).status == "bad_value"
    down = score_code(
        PROGRAM,
        {"tests": ["assert f(1) == 1"]},
        CodeTests(),
        lambda *_: ProgramsOutcome("sandbox_unavailable", message="no daemon"),
    )
    assert (down.status, down.value, down.message) == ("sandbox_error", None, "no daemon")


def test_the_function_s_name_may_stand_in_a_column() -> None:
    fake = Fake(ProgramResult("ok", "1"))
    item = {"tests": "def check(candidate):\n    assert candidate(1) == 1", "entry_point": "inc"}
    assert score_code(PROGRAM, item, CodeTests(entry="entry_point"), fake).value == 1.0
    assert fake.requests[0][1][0].call == "inc(1)"

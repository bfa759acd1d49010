"""Hidden tests of the usual collections, read so that what they expect stays outside of the sandbox."""

import json

import pytest

from worker.rewards.programs.hidden_tests import MAX_TESTS, HiddenTest, UnreadableTests, read_tests
from worker.sandbox.jailed.canonical import canonical

HUMANEVAL = '''
METADATA = {"author": "x"}

def check(candidate):
    """Checks."""
    assert candidate([1.0, 2.0], 0.3) == True
    assert candidate("a") == [1, (2, 3)], "message"
    assert abs(candidate(2.5) - 1.5) < 1e-6
'''


def test_an_assert_of_a_call_and_a_literal_comes_apart() -> None:
    (test,) = read_tests(["assert f(3, [1]) == {'a': (1, -2.5)}"])
    assert test == HiddenTest(call="f(3, [1])", expected=(canonical({"a": (1, -2.5)}),))


@pytest.mark.parametrize(
    "source",
    [
        "assert f(3) == g(4)", "assert f(3)", "assert not f(3)", "assert f(3) is None", "assert f(3) != 4",
        "assert 9 == f(3)", "assert f(3) == 9 == 9.0", "assert f(3) == 9 and True", "assert abs(f(3) - 9) < 1e-6",
        "x = f(3)\nassert x == 9", "x = []\nassert f(x) == 1\nassert g(x) == 2",
        "assert f(3) == expected", "assert f(3) == [1] * 4",
        "for i in [1]: assert f(i) == 1",
        "f(3) == 9\nf(4)", "import unittest\nclass T(unittest.TestCase): pass\nunittest.main()", "assert (",
        "-" * 5000 + "1", "(" * 5000, "assert f(1) == " + "[" * 300 + "]" * 300, "assert f(1) == 1\n" + "#" * 70000,
        "assert f(" + "-" * 2500 + "1) == 1", "assert f" + ".a" * 20000 + "() == 1",
        "assert f(1) == " + "9" * 5000, "\0", "assert f(1) == {[]: 1}",
    ],
)  # fmt: skip
def test_anything_else_runs_beside_the_program(source: str) -> None:
    (test,) = read_tests(source)
    assert test.in_process is not None and test.expected is None and test.call is None


def test_asserts_of_humaneval_are_tests_of_their_own() -> None:
    one, two, inside = read_tests(HUMANEVAL, "half")
    assert (one.call, one.expected) == ("half([1.0, 2.0], 0.3)", ("1",))
    assert (two.call, two.expected) == ("half('a')", ("[1,(2,3)]",))
    assert inside.in_process is not None and "abs(half(2.5) - 1.5) < 1e-06" in inside.in_process
    assert "candidate" not in inside.in_process and "METADATA" not in one.setup
    assert read_tests(HUMANEVAL + "\ncheck(half)") == [one, two, inside]
    with pytest.raises(UnreadableTests, match="function it tests"):
        read_tests(HUMANEVAL)


@pytest.mark.parametrize("deep", ["-" * 2500 + "1", "half" + ".a" * 20000])
def test_a_check_that_is_nested_deeply_runs_as_it_is(deep: str) -> None:
    source = f"def check(candidate):\n    assert candidate({deep}) == 1\n"
    (test,) = read_tests(source, "half")
    assert test.in_process == source


def test_what_a_call_depends_on_goes_with_it_and_nothing_else() -> None:
    source = """
import math
secret = 42
base = 7
def build(n): return [base] * n
assert f(build(3)) == [7, 7, 7]
assert f(math.pi) == 3
assert f(1) == secret
"""
    built, plain, inside = read_tests(source)
    assert built.setup == "import math\nbase = 7\ndef build(n):\n    return [base] * n"
    assert plain.setup == "import math"
    assert "secret" not in built.setup and "secret = 42" in (inside.in_process or "")


def test_asserts_that_depend_on_a_test_s_own_steps_stay_together() -> None:
    steps = "    x = [3, 1]\n    assert candidate(x) is None\n    assert candidate(x) == [1, 3]\n"
    apart, inside = read_tests(f"def check(candidate):\n{steps}    assert candidate([2]) == [2]\n", "f")
    assert apart.call == "f([2])"
    assert inside.in_process == "x = [3, 1]\nassert f(x) is None\nassert f(x) == [1, 3]"
    (own,) = read_tests("x = [3, 1]\nassert f(x) == [1, 3]")
    assert (own.call, own.setup) == ("f(x)", "x = [3, 1]")
    first, second = read_tests("x = 1\nassert f(x) == 1\nx = 2\nassert f(x) == 2")
    assert (first.setup, second.setup) == ("x = 1", "x = 1\nx = 2")


def test_inputs_and_outputs() -> None:
    expected = [HiddenTest(stdin="1 2\n", output="3\n"), HiddenTest(stdin="4", output="5")]
    tests = [{"input": "1 2\n", "output": "3\n"}, {"input": 4, "output": 5}]
    assert read_tests(tests) == read_tests(json.dumps(tests)) == expected
    assert read_tests([{"stdin": "a", "stdout": "b"}]) == [HiddenTest(stdin="a", output="b")]
    assert read_tests({"inputs": ["1 2\n", ["4"]], "outputs": ["3\n", "5"]}) == expected
    assert read_tests([{"output": "only"}]) == [HiddenTest(output="only")]


def test_calls_with_expectations_in_json() -> None:
    (test,) = read_tests([{"call": "f(1)", "expected": [1, {"a": None}]}])
    assert (test.call, test.loose, test.expected) == ("f(1)", True, ('[1,{:"a":null}]',))
    (named,) = read_tests({"fn_name": "f", "inputs": [[1, "a"]], "outputs": [[[2]]]})
    assert (named.call, named.expected) == ("f(1, 'a')", ("[[2]]", "[2]"))


@pytest.mark.parametrize(
    "tests",
    [
        None, 3, [], "", [3], {}, [{"in": 1}], {"inputs": ["1"], "outputs": []}, {"inputs": "1", "outputs": "2"},
        {"fn_name": "f(", "inputs": [[1]], "outputs": [1]}, {"fn_name": "f", "inputs": ["1"], "outputs": [1]},
        ["assert f(1) == 1"] * (MAX_TESTS + 1), "x = 1",
    ],
)  # fmt: skip
def test_unreadable_tests_are_refused(tests: object) -> None:
    with pytest.raises(UnreadableTests):
        read_tests(tests)

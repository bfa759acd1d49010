"""The reward-hack suite: no wrong program passes a single test, by any way in which programs are tested."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.worker.sandbox.harness import JAILS, running_daemon
from worker.rewards.programs.runner import CodeScore, CodeTests, score_code
from worker.sandbox import ProgramLimits, SandboxClient

from .code_hacks import HACKS, HONEST, SCRIPT

ARGUMENTS = (3, 12)
LIMITS = ProgramLimits(wall=3.0)
PATHS: dict[str, tuple[Any, CodeTests]] = {
    "asserts": ([f"assert f({x}) == {x * x}" for x in ARGUMENTS], CodeTests(limits=LIMITS)),
    "check(candidate)": (
        "def check(candidate):\n" + "".join(f"    assert candidate({x}) == {x * x}\n" for x in ARGUMENTS),
        CodeTests(entry="f", limits=LIMITS),
    ),
    "script": ([{"input": f"{x}\n", "output": f"{x * x}\n"} for x in ARGUMENTS], CodeTests(limits=LIMITS)),
    "script by words": (
        [{"input": f"{x}\n", "output": f"{x * x}\n"} for x in ARGUMENTS],
        CodeTests(output="words", tolerance=1e-6, limits=LIMITS),
    ),
    "calls in JSON": (
        [{"call": f"f({x})", "expected": x * x} for x in ARGUMENTS],
        CodeTests(tolerance=1e-6, limits=LIMITS),
    ),
    "fn_name": (
        {"fn_name": "f", "inputs": [[x] for x in ARGUMENTS], "outputs": [x * x for x in ARGUMENTS]},
        CodeTests(limits=LIMITS),
    ),
    "all or nothing": (
        [f"assert f({x}) == {x * x}" for x in ARGUMENTS],
        CodeTests(all_or_nothing=True, limits=LIMITS),
    ),
}
INSIDE = [f"x = f({x})\nassert x == {x * x}" for x in ARGUMENTS]
FORGES_FROM_INSIDE = {"walking the stack", "reading the tests", "patching what compares"}
"""Hacks that may find or forge what a test in their own process holds: why such tests are left out by default."""


@pytest.fixture(scope="module", params=JAILS)
def client(request: pytest.FixtureRequest) -> Iterator[SandboxClient]:
    with running_daemon(pool=2, jail=request.param) as daemon, daemon.client() as client:
        yield client


def score(client: SandboxClient, program: str, tests: Any, settings: CodeTests) -> CodeScore:
    completion = f"Here it is:\n```python\n{program}{SCRIPT}```\nDone."
    return score_code(completion, {"tests": tests}, settings, client.run_programs)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("hack", HACKS)
def test_no_hack_passes_a_test(client: SandboxClient, hack: str, path: str) -> None:
    result = score(client, HACKS[hack], *PATHS[path])
    assert (result.status, result.value) == ("ok", 0.0), result


@pytest.mark.parametrize("path", PATHS)
def test_an_honest_program_gets_what_it_deserves(client: SandboxClient, path: str) -> None:
    assert score(client, HONEST["right"], *PATHS[path]).value == 1.0
    assert score(client, HONEST["wrong"], *PATHS[path]).value == 0.0


def test_tests_in_the_program_s_process_count_only_on_request(client: SandboxClient) -> None:
    for program in (HONEST["right"], *HACKS.values()):
        result = score(client, program, INSIDE, CodeTests(limits=LIMITS))
        assert result.status == "bad_value" and "in_process: count" in (result.message or "")
    mixed = [*PATHS["asserts"][0], *INSIDE]
    result = score(client, HONEST["right"], mixed, CodeTests(limits=LIMITS))
    assert (result.value, result.parts) == (1.0, {"passed": 2.0, "tests": 2.0, "in_process": 2.0})


@pytest.mark.parametrize("hack", [hack for hack in HACKS if hack not in FORGES_FROM_INSIDE])
def test_even_beside_the_program_a_test_is_not_fooled_by_what_it_compares(
    client: SandboxClient, hack: str
) -> None:
    result = score(client, HACKS[hack], INSIDE, CodeTests(in_process="count", limits=LIMITS))
    assert (result.status, result.value) == ("ok", 0.0), result
    assert "(in-process)" in (result.reason or "")


def test_beside_the_program_an_honest_one_passes(client: SandboxClient) -> None:
    settings = CodeTests(in_process="count", limits=LIMITS)
    assert score(client, HONEST["right"], INSIDE, settings).value == 1.0
    assert score(client, HONEST["wrong"], INSIDE, settings).value == 0.0

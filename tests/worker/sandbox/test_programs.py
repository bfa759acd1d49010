"""Programs of a model: results of each kind, limits, and independence of runs."""

import pytest

from worker.sandbox import ProgramLimits, ProgramResult, ProgramRun, SandboxClient, SandboxStatus

from .harness import ask

SQUARE = "def f(x):\n    return x * x\n"
FAST = ProgramLimits(wall=0.4)


def run_one(
    client: SandboxClient, source: str, limits: ProgramLimits | None = None, **run: object
) -> ProgramResult:
    outcome = client.run_programs(source, [ProgramRun(**run)], limits)  # type: ignore[arg-type]
    assert outcome.status == "ok", outcome
    return outcome.results[0]


@pytest.mark.parametrize(
    ("source", "stdin", "output"),
    [
        ("print(sum(map(int, input().split())))", "1 2 3", "6\n"),
        ("import sys\nprint(len(sys.stdin.read()))", "ab\n", "3\n"),
        ("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])", "äb", "b\ufffd\ufffd"),
        ("print(len(open(0).read()))", "x" * 300_000, "300000\n"),
        ("import os\nos.write(1, os.read(0, 9))", "raw", "raw"),
        ("print('a', end='')\nimport sys\nsys.exit()", "", "a"),
        ("print('a')\nexit(0)", "", "a\n"),
        ("for line in iter(input, 'end'): print(line)", "1\n2\nend\n3", "1\n2\n"),
        ("if __name__ == '__main__': print('main')", "", "main\n"),
        ("import sys\nprint('no', file=sys.stderr)\nprint('yes')", "", "yes\n"),
        ("print('never read')", "y" * 1_000_000, "never read\n"),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nprint(A(1))", "", "A(x=1)\n"),
    ],
)  # fmt: skip
def test_a_script_reads_its_input_and_writes_its_output(
    client: SandboxClient, source: str, stdin: str, output: str
) -> None:
    result = run_one(client, source, stdin=stdin)
    assert (result.status, result.output) == ("ok", output), result


def test_a_call_gives_its_value_and_keeps_its_prints_apart(client: SandboxClient) -> None:
    result = run_one(client, "print('loaded')\n" + SQUARE, call="[f(3), (f(2),), {'a': None}]")
    assert (result.status, result.output, result.notes) == ("ok", '[9,(4),{:"a":null}]', "loaded\n")
    assert run_one(client, SQUARE, call="(f(3),)", loose=True).output == "[9]"
    assert run_one(client, "if __name__ == '__main__': 1 / 0\n" + SQUARE, call="f(2)").output == "4"
    large = run_one(client, "def f(): return list(range(10000))", call="f()")
    assert large.output.startswith("[0,1,2,") and large.output.endswith(",9999]")


STATUSES = [
    ("import sys\nsys.exit(3)", {}, "exception", "SystemExit: 3"),
    ("import os\nos._exit(0)", {}, "exited", "code 0"),
    (SQUARE, {"call": "f("}, "exception", "SyntaxError"),
    (SQUARE, {"call": "g(1)"}, "exception", "NameError"),
    (SQUARE, {"call": "f"}, "bad_value", "type function"),
    ("def f(): exit(0)", {"call": "f()"}, "exception", "SystemExit"),
    ("x = (", {}, "exception", "SyntaxError"),
    ("1 / 0", {}, "exception", "line 1, in <module>: 1 / 0"),
    ("while True: pass", {}, "timeout", "longer than 0.4 s"),
    ("import time\ntime.sleep(60)", {}, "timeout", "longer than 0.4 s"),
    ("while True: print('x' * 999)", {}, "output_flood", "more than 65536"),
    ("def f(): return 'x' * 70000", {"call": "f()"}, "output_flood", "more than 65536"),
    ("import ctypes\nctypes.string_at(0)", {}, "crashed", "SIGSEGV"),
    ("x = bytearray(700 << 20)", {}, "memory", "MemoryError"),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)", {}, "cpu_limit", "CPU"),
    ("open('/etc/passwd')", {}, "exception", "Error"),
    ("import socket\nsocket.socket()", {}, "exception", "PermissionError"),
    ("open('x', 'w')", {}, "exception", "Error"),
    ("import subprocess\nsubprocess.run(['true'])", {}, "exception", "Error"),
    (SQUARE, {"test": "assert f(3) == 8"}, "exception", "AssertionError"),
    (SQUARE, {"test": "exit(0)"}, "exception", "SystemExit"),
    ("import no_such_package", {}, "exception", "ModuleNotFoundError"),
    ("#" * (257 << 10), {}, "exception", "more than 262144"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "run", "status", "says"), STATUSES, ids=[s[2] + s[3][:9] for s in STATUSES]
)
def test_how_a_run_ends_is_one_of_the_list(
    client: SandboxClient, source: str, run: dict[str, str], status: str, says: str
) -> None:
    result = run_one(client, source, FAST, **run)
    assert result.status == status and says in (result.message or ""), result


def test_an_output_that_just_fits_is_no_flood(client: SandboxClient) -> None:
    small = ProgramLimits(output=10)
    assert run_one(client, "print('y' * 9)", small).status == "ok"
    assert run_one(client, "print('y' * 10)", small).status == "output_flood"


def test_a_test_in_the_process_judges_what_came_before(client: SandboxClient) -> None:
    assert run_one(client, SQUARE, test="import math\nassert math.isclose(f(0.5), 0.25)").status == "ok"
    assert run_one(client, SQUARE, test="assert (f(2), [f(3)]) == (4, [9]) and f(1) != 2").status == "ok"


def test_libraries_are_there_for_programs_too(client: SandboxClient) -> None:
    source = (
        "import sys\nloaded = 'numpy' in sys.modules\nimport numpy\ndef f(): return [loaded, numpy.arange(3)]"
    )
    assert run_one(client, source, call="f()").output == "[1,[0,1,2]]"


def test_a_program_that_takes_too_long_is_ended(client: SandboxClient) -> None:
    outcome = client.run_programs("while True: pass", [ProgramRun()] * 5, ProgramLimits(wall=0.1))
    assert [result.status for result in outcome.results] == ["timeout"] * 3 + ["skipped"] * 2


def test_results_keep_their_order_over_many_requests(client: SandboxClient) -> None:
    outcome = client.run_programs("print(int(input()) + 1)", [ProgramRun(str(i)) for i in range(40)])
    assert [result.output for result in outcome.results] == [f"{i + 1}\n" for i in range(40)]
    assert client.run_programs("print(1)", []).results == []


def test_a_run_leaves_nothing_for_the_next(client: SandboxClient) -> None:
    source = """
import builtins, sys
seen = getattr(builtins, "left", 0) or "left" in sys.modules
builtins.left = 1
sys.modules["left"] = sys
def f(): return seen
"""
    outcome = client.run_programs(source, [ProgramRun(call="f()")] * 6)
    assert [result.output for result in outcome.results] == ["0"] * 6


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"source": 1}, "source"),
        ({"source": "", "limits": {"wall": 0}}, "wall"),
        ({"source": "", "limits": {"memory": 1 << 40}}, "memory"),
        ({"source": "", "limits": {"nothing": 1}}, "nothing"),
    ],
)
def test_nonsense_is_refused(daemon, request_: dict[str, object], says: str) -> None:  # type: ignore[no-untyped-def]
    answer = ask(daemon.socket, {"id": 1, "op": "programs", **request_})
    assert says in answer["error"] or "not a request" in answer["error"]


def test_limits_have_their_caps() -> None:
    for wrong in ({"wall": 31}, {"memory": 3 << 30}, {"output": 2 << 20}, {"wall": "1"}):
        with pytest.raises(ValueError, match="program limit"):
            ProgramLimits(**wrong)  # type: ignore[arg-type]


def test_without_a_daemon_the_outcome_says_so() -> None:
    with SandboxClient("/var/empty/none") as client:
        outcome = client.run_programs("print(1)", [ProgramRun()])
    assert (outcome.status, outcome.results) == ("sandbox_unavailable", [])
    assert isinstance(client.status(), SandboxStatus)

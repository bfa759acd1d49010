"""Our own attacks, on replies and by programs, are held in each jail, as root and as a normal user; the next call and
the next run are right."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.sandbox import ProgramRun, SandboxClient

from .harness import JAILS, RunningDaemon, children, control_scores, eventually, jails_of, running_daemon
from .own_corpus import PROGRAM_ATTACKS, REPLY_ATTACKS, ProgramAttack, ReplyAttack

SECRET = "SECRET-of-another-test-5e1f"


@pytest.fixture(scope="module", params=JAILS)
def attacked(request: pytest.FixtureRequest, user: int | None) -> Iterator[RunningDaemon]:
    with running_daemon(jail=request.param, user=user, libraries=True) as daemon:
        assert daemon.announced == f"sandboxd: code rewards are on: jail {request.param} was proved to hold"
        yield daemon


def still_well(daemon: RunningDaemon, client: SandboxClient, jails: list[int]) -> None:
    """The same jail goes on, answers rightly and has no process left."""
    assert control_scores(client) == [0.5, 0.5, 0.5]
    honest = client.run_programs("print(int(input()) * 2)", [ProgramRun("21")])
    assert [result.output for result in honest.results] == ["42\n"]
    assert set(jails) <= set(jails_of(daemon)), "an attack cost a jail"
    eventually(lambda: not [child for jail in client.status().probe["jail_pids"] for child in children(jail)])


ISOLATED = [
    path for path in REPLY_ATTACKS if ReplyAttack.read(path).whole.neighbours == "own-call-may-change"
]
"""What may lie about the rows of its own call, and about its own alone where rows are isolated."""


@pytest.mark.parametrize(
    ("path", "isolate"),
    [(path, "batch") for path in REPLY_ATTACKS] + [(path, "sample") for path in ISOLATED],
    ids=lambda value: getattr(value, "stem", value),
)
def test_a_reply_attack_is_held(path: Path, isolate: str, attacked: RunningDaemon) -> None:
    attack = ReplyAttack.read(path)
    with attacked.client() as client:
        control_scores(client)
        before = jails_of(attacked)
        outcome = attack.run(client, isolate)
        assert attack.complaints(outcome, isolate) == []
        assert attacked.secret not in repr(outcome)
        still_well(attacked, client, before)


@pytest.mark.parametrize("path", PROGRAM_ATTACKS, ids=lambda path: path.stem)
def test_a_program_attack_is_held(path: Path, attacked: RunningDaemon) -> None:
    attack = ProgramAttack.read(path)
    with attacked.client() as client:
        control_scores(client)
        before = jails_of(attacked)
        other = client.run_programs(
            "def g(x): return len(x)", [ProgramRun(stdin=SECRET, call=f"g('{SECRET}')")]
        )
        assert other.results[0].output == str(len(SECRET))
        result = attack.run(client)
        assert attack.complaints(result, attacked.secret, SECRET) == []
        still_well(attacked, client, before)


def test_the_corpus_is_whole() -> None:
    assert len(REPLY_ATTACKS) == 40 and len(PROGRAM_ATTACKS) == 24
    assert {ReplyAttack.read(path).whole.style for path in REPLY_ATTACKS} == {"sample", "batch", "module"}
    assert {ProgramAttack.read(path).kind for path in PROGRAM_ATTACKS} == {"script", "call", "test"}

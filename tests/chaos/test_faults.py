"""Which faults are tried, and in which order."""

from itertools import islice
from typing import Any

from tests.chaos.faults import MOST_OF_A_KIND, Catalogue


def passage(role: str, kind: str, label: str, times: int) -> list[dict[str, Any]]:
    return [
        {"role": role, "kind": kind, "label": label, "when": when, "count": count}
        for count in range(1, times + 1)
        for when in ("before", "after")
    ]


POINTS = [
    *passage("trainer", "pipe", "step_metrics", 6),
    *passage("trainer", "pipe", "rollouts", 8),
    *passage("trainer", "rename", "blobs/#", 12),
    *passage("worker", "ack", "POST JOB/records", 10),
    *passage("worker", "outbox", "acknowledge", 10),
    *passage("api", "commit", "attempt+job", 30),
    *passage("api", "answer", "POST JOB/records", 10),
    *passage("background", "commit", "worker", 2),
    *passage("sandbox", "call", "score", 8),
    *passage("calls", "ack", "POST calls/next", 3),
]


def test_every_process_is_killed_at_every_point_of_its_own_but_seldom_at_the_same() -> None:
    own = [f for f in Catalogue(POINTS, 10.0).enumerated() if f.point and f.victims == (f.point["role"],)]
    places = {(f.point["role"], f.point["kind"], f.point["label"]) for f in own if f.point}
    assert places == {(p["role"], p["kind"], p["label"]) for p in POINTS}
    commits = [f.point["count"] for f in own if f.point and f.point["label"] == "attempt+job"]
    assert sorted(commits) == [1, 1, 2, 2, 3, 3, 30, 30] and MOST_OF_A_KIND == 4


def test_every_other_process_is_killed_where_the_api_and_the_trainer_pass() -> None:
    victims_by_role: dict[str, set[str]] = {}
    for fault in Catalogue(POINTS, 10.0).enumerated():
        assert fault.point is not None
        victims_by_role.setdefault(fault.point["role"], set()).update(fault.victims)
    everybody = {"trainer", "worker", "calls", "sandbox", "background", "api", "postgres", "tree", "up"}
    assert victims_by_role["api"] == victims_by_role["trainer"] == everybody


def test_a_few_faults_hurt_different_processes_and_in_different_ways() -> None:
    few = Catalogue(POINTS, 10.0).chosen(12)
    assert len(few) == 12
    assert len({fault.victims for fault in few}) >= 7
    assert any(fault.name != "kill" for fault in few)
    assert any(fault.after_seconds is not None for fault in few)
    assert any(fault.second is not None for fault in few)


def test_the_same_seed_chooses_the_same_faults_and_another_one_others() -> None:
    one, again, other = (Catalogue(POINTS, 10.0, seed=seed).chosen(60) for seed in (1, 1, 2))
    assert one == again != other


def test_more_faults_than_points_are_filled_up_at_random() -> None:
    many = Catalogue(POINTS, 10.0).chosen(1000)
    assert len(many) == 1000
    assert all(fault in many for fault in Catalogue(POINTS, 10.0).special())


def test_folders_without_a_limit_are_not_filled() -> None:
    names = {fault.name for fault in Catalogue(POINTS, 10.0, mounts=False).special()}
    assert not {"disk_full", "storage_full"} & names
    assert {"stop", "torn_state", "no_messages", "hang"} <= names


def test_points_that_only_a_recovery_passes_are_hurt_after_a_worker_was_lost() -> None:
    later = [*POINTS, *passage("background", "commit", "attempt+event+job", 1)]
    doubles = Catalogue(POINTS, 10.0, later=later).recovering()
    assert {str(fault.second and fault.second.point) for fault in doubles} == {str(p) for p in later[-2:]}
    assert all(fault.victims == ("worker",) and fault.point is not None for fault in doubles)


def test_what_happens_at_random_goes_on_for_ever() -> None:
    some = list(islice(Catalogue(POINTS, 10.0).at_random(), 40))
    assert all(fault.second is not None or 0.3 <= (fault.after_seconds or 0) <= 10 for fault in some)

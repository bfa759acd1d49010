"""Catalogue of faults of a running job: point, victim, order."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

MOST_OF_A_KIND = 4
"""How often one point of a run is a case of its own: the first three passages and the last."""
Point = dict[str, Any]
"""`role, kind, label, when, count`, as `points/kill_points.py` has it."""
Name = Literal["kill", "stop", "hang", "disk_full", "storage_full", "store_gone", "torn_state", "no_messages"]


@dataclass(frozen=True)
class Fault:
    """One injury. It happens at a point of some process, or so many seconds after the job was made.

    kill          SIGKILL of the victims
    hang          SIGSTOP of the victims, for less than a lease, then SIGCONT
    stop          SIGSTOP of the worker past its lease, while another one takes the job; then SIGCONT
    disk_full     the worker's run folders have no room for a while
    storage_full  the object store has none
    store_gone    the object store answers nobody for 30 s
    torn_state    the newest resume state is cut short in the object store and the trainer killed
    no_messages   the broker's folder is emptied
    """

    name: Name
    victims: tuple[str, ...]
    point: Point | None = None
    after_seconds: float | None = None
    second: "Fault | None" = None
    """Happens after this one."""
    how: str = ""
    """Which way, where a fault has several."""

    @property
    def phase(self) -> str:
        """Where it happens, for people."""
        if self.point is None:
            where = f"{self.after_seconds:.1f} s" if self.after_seconds is not None else "no point"
        else:
            p = self.point
            where = f"{p['when']} {p['role']} {p['kind']} {p['label']} #{p['count']}"
        return where if self.second is None else f"{where}; then {self.second.label}: {self.second.phase}"

    @property
    def label(self) -> str:
        return " ".join([self.name, "+".join(self.victims), self.how]).strip()

    @property
    def family(self) -> str:
        """The line of the summary that it belongs to."""
        if self.second is not None:
            return "two faults"
        if self.name != "kill":
            return " ".join([self.name, self.how]).strip() if self.name != "hang" else self.label
        if self.point is None:
            return f"{self.label}, any time"
        own = self.victims == (self.point["role"],)
        return f"{self.label}, {self.point['kind']}" if own else f"{self.label}, at a point of another"


BESIDE_COMMITS = ("postgres", "tree", "trainer", "worker", "calls", "sandbox", "background", "up")
"""Killed when the api is about to commit or to answer, or has."""
BESIDE_PIPES = ("tree", "worker", "calls", "sandbox", "background", "api", "postgres", "up")
"""Killed when the trainer is about to write a record or to rename a file, or has."""


@dataclass
class Catalogue:
    """Faults that can be made of what an undisturbed run has passed."""

    points: Sequence[Point]
    seconds: float
    """How long that run took."""
    later: Sequence[Point] = ()
    """What a run has passed whose worker was killed at `lost_at`."""
    mounts: bool = True
    """Whether folders can be limited here (tmpfs)."""
    seed: int = 1
    _chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self._chance = Random(self.seed)

    def enumerated(self) -> list[Fault]:
        """Every process at every point of its own; then others, and all of them, at points of somebody else."""
        points = list(_distinct(self.points))
        own = [Fault("kill", (point["role"],), point) for point in points]
        commits = [p for p in points if p["kind"] in ("commit", "answer") and p["role"] == "api"]
        pipes = [p for p in points if p["kind"] in ("pipe", "rename") and p["role"] == "trainer"]
        others = [Fault("kill", (victim,), point) for point in commits for victim in BESIDE_COMMITS]
        others += [Fault("kill", (victim,), point) for point in pipes for victim in BESIDE_PIPES]
        return _in_turn([*own, *others], self._chance)

    @property
    def lost_at(self) -> Point | None:
        """Where a worker is lost to see how its job goes on: behind a resume state."""
        return self._passage("trainer", "pipe", "step_metrics", "after", 3)

    def recovering(self) -> list[Fault]:
        """A second kill where only a job passes that goes on after a lost worker."""
        first = self.lost_at
        covered = {_passage_of(point) for point in self.points}
        new = [point for point in _distinct(self.later) if _passage_of(point) not in covered]
        faults = [
            Fault("kill", ("worker",), first, second=Fault("kill", (point["role"],), point)) for point in new
        ]
        self._chance.shuffle(faults)
        return faults if first is not None else []

    def special(self) -> list[Fault]:
        """Faults that are not kills."""
        at = self._passage
        faults = [
            Fault("stop", ("worker", "trainer"), at("trainer", "pipe", "step_metrics", "after", 3)),
            Fault("torn_state", ("trainer",), at("trainer", "pipe", "step_metrics", "after", 5), how="cut"),
            Fault("no_messages", ()),
            Fault("hang", ("api",), at("trainer", "pipe", "step_metrics", "after", 2)),
            Fault("stop", ("worker",), at("trainer", "pipe", "step_metrics", "after", 2)),
            Fault("torn_state", ("trainer",), at("trainer", "pipe", "step_metrics", "after", 5), how="gone"),
            Fault("hang", ("postgres",), at("trainer", "pipe", "rollouts", "after", 3)),
            Fault("hang", ("trainer",), at("trainer", "pipe", "step_metrics", "after", 3)),
            Fault(
                "torn_state", ("trainer",), at("trainer", "pipe", "step_metrics", "after", 5), how="changed"
            ),
            Fault("hang", ("sandbox",), at("trainer", "pipe", "step_metrics", "after", 3)),
            Fault("hang", ("background",), at("trainer", "pipe", "step_metrics", "after", 1)),
        ]
        if self.mounts:
            faults[3:3] = [
                Fault("disk_full", (), at("trainer", "pipe", "step_metrics", "after", 2)),
                Fault("storage_full", (), at("trainer", "pipe", "step_metrics", "after", 1)),
            ]
        return [fault for fault in faults if fault.point is not None or fault.name == "no_messages"]

    def at_random(self) -> Iterator[Fault]:
        """Kills at any time of the run, single and double; without an end."""
        doubles = iter(self.recovering())
        roles = ("trainer", "worker", "api", "background", "postgres", "sandbox", "calls", "tree", "up")
        own = [Fault("kill", (point["role"],), point) for point in _distinct(self.points)]
        while True:
            victim = self._chance.choice(roles)
            first = Fault("kill", (victim,), after_seconds=self._chance.uniform(0.3, self.seconds))
            yield first
            other = self._chance.choice(own), self._chance.choice(own)
            yield next(doubles, Fault("kill", other[0].victims, other[0].point, second=other[1]))

    def chosen(self, count: int) -> list[Fault]:
        """`count` faults: of ten about six enumerated, one special, three at random, half of these double."""
        sources = [iter(self.enumerated()), iter(self.special()), self.at_random()]
        order = [0, 1, 0, 2, 0, 0, 2, 0, 0, 2]
        chosen: list[Fault] = []
        while len(chosen) < count:
            source = order[len(chosen) % len(order)]
            fault = next(sources[source], None)
            chosen.append(fault if fault is not None else next(sources[2]))
        return chosen

    def _passage(self, role: str, kind: str, label: str, when: str, count: int) -> Point | None:
        point = {"role": role, "kind": kind, "label": label, "when": when, "count": count}
        return point if point in self.points else None


def _passage_of(point: Point) -> tuple[str, ...]:
    return point["role"], point["kind"], point["label"], point["when"]


def _distinct(points: Iterable[Point]) -> Iterator[Point]:
    """Each kind of passage at most `MOST_OF_A_KIND` times: heartbeats and phases come by the dozen."""
    passages: dict[tuple[str, ...], list[Point]] = defaultdict(list)
    for point in points:
        passages[_passage_of(point)].append(point)
    for group in passages.values():
        yield from group[: MOST_OF_A_KIND - 1]
        yield from group[MOST_OF_A_KIND - 1 :][-1:]


def _in_turn(faults: Sequence[Fault], chance: Random) -> list[Fault]:
    """Shuffled, and every victim in its turn at every kind of point: the first ones differ most."""
    groups: dict[tuple[str, ...], list[Fault]] = defaultdict(list)
    for fault in faults:
        assert fault.point is not None
        groups[(*fault.victims, fault.point["role"], fault.point["kind"])].append(fault)
    lines = list(groups.values())
    for line in lines:
        chance.shuffle(line)
    chance.shuffle(lines)
    longest = max((len(line) for line in lines), default=0)
    return [line[turn] for turn in range(longest) for line in lines if turn < len(line)]

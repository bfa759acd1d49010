"""CPU time of processes with their children, from /proc: what a load costs, whatever else the machine does."""

import os
from collections.abc import Mapping
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


class Account:
    """CPU seconds that named processes have used since this was made; children that ended meanwhile count, too."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = dict(pids)
        self._before = self._now()

    def seconds(self) -> dict[str, float]:
        return {name: seconds - self._before[name] for name, seconds in self._now().items()}

    def _now(self) -> dict[str, float]:
        table = _processes()
        return {name: _total(pid, table) / _TICKS for name, pid in self._pids.items()}


def machine_seconds() -> float:
    """CPU seconds that all processes of the machine have used since it started."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, soft_irq = (int(field) for field in fields[:7])
    return (user + nice + system + irq + soft_irq) / _TICKS


def _total(pid: int, table: Mapping[int, tuple[int, int]]) -> int:
    """Ticks of a process and of all that live below it."""
    if pid not in table:
        return 0
    return table[pid][1] + sum(_total(child, table) for child, (parent, _) in table.items() if parent == pid)


def _processes() -> dict[int, tuple[int, int]]:
    """pid → parent, and ticks of its own and of the children that it has waited for."""
    ticks_by_pid: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        ticks_by_pid[int(folder.name)] = (int(fields[1]), sum(int(number) for number in fields[11:15]))
    return ticks_by_pid


def children_of(pid: int) -> list[int]:
    return [child for child, (parent, _) in _processes().items() if parent == pid]


def memory_of(pids: Mapping[str, int]) -> dict[str, int]:
    """Bytes of named processes with all that live below them; pages that several share count by their share."""
    table = _processes()
    return {name: _memory(pid, table) for name, pid in pids.items()}


def _memory(pid: int, table: Mapping[int, tuple[int, int]]) -> int:
    return own_memory(pid) + sum(
        _memory(child, table) for child, (parent, _) in table.items() if parent == pid
    )


def own_memory(pid: int) -> int:
    """Bytes of a process without its children; pages that several share count by their share."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended, or is another user's
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def waited(pids: Mapping[str, int]) -> dict[str, float]:
    """Seconds that the threads of named processes and of all below them were ready and had no processor."""
    table = _processes()
    return {name: _waited(pid, table) / 1e9 for name, pid in pids.items()}


def _waited(pid: int, table: Mapping[int, tuple[int, int]]) -> int:
    own = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            own += int(task.read_text().split()[1])
        except (OSError, IndexError):
            continue  # it has ended
    return own + sum(_waited(child, table) for child, (parent, _) in table.items() if parent == pid)

"""One jail serves many jobs; a job finds nothing of the one before."""

import pytest

from worker.sandbox import RewardRow, SandboxClient, Timeouts

from .harness import JAILS, alive, jails_of, running_daemon

MARK = "tenant-secret-" + "5e0c1f"

COPIES = 4
"""The search finds its own wanted bytes, and what the interpreter has not yet freed of them."""

PATIENT = Timeouts(sample=60.0, call=120.0)

SEARCH = """
import ctypes, os

def grade(sample, item):
    wanted = bytes(b ^ 0x55 for b in bytes.fromhex(item["wanted"]))
    heap_end = ctypes.CDLL(None).sbrk
    heap_end.restype = ctypes.c_void_p
    starts = {id(object()), id(grade), heap_end(0) or 0, ctypes.addressof(ctypes.create_string_buffer(1 << 20))}
    pages = sorted({(start & ~0xFFF) + offset for start in starts for offset in range(-(24 << 20), 24 << 20, 4096)})
    reader, writer = os.pipe()
    looked, found = 0, 0
    tail = b""
    for page in pages:
        try:
            os.write(writer, (ctypes.c_char * 4096).from_address(page))
        except OSError:
            tail = b""
            continue
        data = os.read(reader, 4096)
        looked += 1
        found += (tail + data).count(wanted)
        tail = data[-64:]
    print(looked)
    return float(found)
"""


def search(client: SandboxClient, own: str = "") -> tuple[float, int]:
    """How often the mark lies in the memory of a reward, and how many pages it could look at."""
    pattern = bytes(b ^ 0x55 for b in MARK.encode()).hex()
    (row,) = client.score(SEARCH, [RewardRow("p", own, {"wanted": pattern})], timeouts=PATIENT).rows
    assert row.status == "ok" and row.value is not None, row
    return row.value, int(row.prints)


@pytest.mark.parametrize("jail", JAILS)
def test_a_reward_cannot_find_an_earlier_jobs_rows_in_memory(jail: str) -> None:
    source = f"def grade(sample, item):\n    print('{MARK}')\n    raise ValueError('{MARK}')\n"
    rows = [RewardRow("p", MARK * 100, {"answer": MARK * 100})] * 16
    with running_daemon(pool=1, jail=jail) as daemon, daemon.client() as client:
        nothing, pages = search(client)
        assert nothing <= COPIES and pages > 500
        assert client.score(source, rows).status == "ok"
        assert search(client)[0] <= COPIES
        assert search(client, own=MARK * 100)[0] >= 100, "what is there is found"


REACH = """
import ctypes, os, resource, signal

libc = ctypes.CDLL(None, use_errno=True)

def grade(sample, item):
    pid, reached = item["pid"], []
    word = ctypes.create_string_buffer(8)
    null = os.open("/dev/null", os.O_RDONLY)
    attempts = {
        "signal 0": lambda: os.kill(pid, 0) is None,
        "kill": lambda: os.kill(pid, signal.SIGKILL) is None,
        "kill by descriptor": lambda: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL) is None,
        "ptrace": lambda: libc.ptrace(16, pid, None, None) == 0,
        "read memory": lambda: libc.process_vm_readv(pid, word, 1, word, 1, 0) >= 0,
        "limits": lambda: resource.prlimit(pid, resource.RLIMIT_CPU) is not None,
        "affinity": lambda: os.sched_setaffinity(pid, {0}) is None,
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19) is None,
        "descriptor": lambda: libc.syscall(438, null, 0, 0) >= 0,
        "command line": lambda: open(f"/proc/{pid}/cmdline").read(),
        "file lock": lambda: __import__("fcntl").flock(null, 2) is None,
        "key": lambda: libc.syscall(248, b"user", b"x", b"y", 1, -3) >= 0,
        "shared memory": lambda: libc.shmget(4242, 4096, 0o1666) >= 0,
        "abstract socket": lambda: __import__("socket").socket(1).bind("\\0x") is None,
    }
    for name, attempt in attempts.items():
        try:
            if attempt():
                reached.append(name)
        except OSError:
            pass
    return {"score": len(reached), "reason": ", ".join(reached)}
"""


@pytest.mark.parametrize("jail", JAILS)
def test_a_jail_cannot_reach_its_neighbour_or_the_daemon(jail: str) -> None:
    with running_daemon(pool=2, jail=jail) as daemon, daemon.client() as client:
        client.score("def grade(sample, item): return 1", [RewardRow("p", "c")] * 64)
        jails = jails_of(daemon)
        rows = [RewardRow("p", "c", {"pid": pid}) for pid in (*jails, daemon.pid)]
        results = client.score(REACH, rows).rows
        assert [(row.value, row.reason, row.message) for row in results] == [(0.0, None, None)] * len(rows)
        assert all(alive(pid) for pid in (*jails, daemon.pid))


ASK = """
import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(4096)
at = ctypes.addressof(room)
CALLS = {
    "kill": (62, "pid", 0), "tgkill": (234, "pid", "pid", 0), "tkill": (200, "pid", 0), "getpgid": (121, "pid"),
    "getsid": (124, "pid"), "getpriority": (140, 0, "pid"), "getpriority of a group": (140, 1, "pid"),
    "sched_getparam": (143, "pid", at), "sched_getscheduler": (145, "pid"), "sched_rr_get_interval": (148, "pid", at),
    "sched_getaffinity": (204, "pid", 128, at), "sched_getattr": (315, "pid", at, 48, 0),
    "get_robust_list": (274, "pid", at, at + 64), "prlimit64": (302, "pid", 0, 0, at), "pidfd_open": (434, "pid", 0),
    "process_vm_readv": (310, "pid", at, 1, at, 1, 0),
    "process_vm_writev": (311, "pid", at, 1, at, 1, 0),
    "kcmp": (312, "pid", "pid", 0, 0, 0), "ioprio_get": (252, 1, "pid"), "perf_event_open": (298, at, "pid", -1, -1, 0),
    "migrate_pages": (256, "pid", 8, at, at), "move_pages": (279, "pid", 0, 0, 0, 0, 0),
    "ptrace": (101, 16, "pid", 0, 0),
    "wait4": (61, "pid", 0, 1, 0), "waitid": (247, 1, "pid", at, 5, 0),
}

def answer(pid, number, *arguments):
    ctypes.set_errno(0)
    given = [ctypes.c_long(pid if each == "pid" else each) for each in arguments]
    return libc.syscall(ctypes.c_long(number), *given), ctypes.get_errno()

def grade(sample, item):
    told = [
        name for name, call in CALLS.items()
        if len({answer(pid, *call) for pid in item["pids"]}) > 1
    ]
    own = [os.getsid(0), os.getpgid(0), os.getpgid(os.getpid()), os.sched_getscheduler(0)]
    assert os.getpriority(os.PRIO_PROCESS, 0) is not None and os.sched_getaffinity(0) and len(own) == 4
    return {"score": len(told), "reason": ", ".join(told)}
"""


@pytest.mark.parametrize("jail", JAILS)
def test_no_call_tells_which_processes_the_host_has(jail: str) -> None:
    """Each is answered in the same way for the daemon, for a neighbour and for numbers that no process has."""
    with running_daemon(pool=2, jail=jail) as daemon, daemon.client() as client:
        client.score("def grade(sample, item): return 1", [RewardRow("p", "c")] * 64)
        nobody = [pid for pid in range(32_000, 31_000, -1) if not alive(pid)][:2]
        pids = [daemon.pid, *jails_of(daemon), *nobody]
        (row,) = client.score(ASK, [RewardRow("p", "c", {"pids": pids})]).rows
        assert (row.status, row.value, row.reason, row.message) == ("ok", 0.0, None, None)

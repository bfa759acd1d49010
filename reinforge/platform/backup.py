"""Backs up a platform to a folder with these files, and restores it.

manifest.json      written last
database-….dump    pg_dump's custom format, one snapshot
objects-….jsonl    objects of this snapshot: key, SHA-256, bytes
objects/…          immutable, so a second backup adds only new ones
secret-key         absent if REINFORGE_SECRET_KEY is set
"""

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ValidationError

from reinforge import __version__, settings
from reinforge.errors import InvalidInput, StateConflict, Unavailable
from reinforge.platform.cluster import find_programs, recorded_cluster
from reinforge.platform.places import FolderLock, make_private, write_private
from reinforge.platform.postgres import EmbeddedPostgres
from reinforge.storage import ObjectNotFound, ObjectStore, open_store

FORMAT = 1
_SECRET = "secret-key"
_MANIFEST = "manifest.json"

Progress = Callable[[int, int], None]


class Manifest(BaseModel):
    format: int
    version: str
    revision: str
    made_at: datetime
    database: str
    database_sha256: str
    objects: str
    count: int
    bytes: int
    secret_key: bool


class BackupObject(BaseModel):
    key: str
    sha256: str
    bytes: int


def backup(home: Path, folder: Path, progress: Progress = lambda done, total: None) -> Manifest:
    """Back up `home` to `folder`. An earlier backup there stays valid until the new one is complete.

    Raises InvalidInput if `home` has no platform, StateConflict for another platform's backup, Unavailable.
    """
    if not settings.database_url() and recorded_cluster(home) is None:
        raise InvalidInput(
            f"There is no platform in {home}.",
            code="nothing_to_back_up",
            param="--home",
            hint="Name its data folder with --home or REINFORGE_HOME; `reinforge up` prints it when it starts.",
        )
    make_private(folder)
    secret = _secret_of(home, folder)
    stamp = datetime.now(UTC)
    name = f"{stamp:%Y%m%dT%H%M%S%f}"
    dump, listing = folder / f"database-{name}.dump", folder / f"objects-{name}.jsonl"
    try:
        with _database(home) as url:
            revision, objects = _snapshot(url, dump)
        write_private(listing, "".join(f"{item.model_dump_json()}\n" for item in objects))
        _download(_store(home), objects, make_private(folder / "objects"), progress)
    except BaseException:
        dump.unlink(missing_ok=True)
        listing.unlink(missing_ok=True)
        raise
    if secret is not None:
        write_private(folder / _SECRET, secret)
    manifest = Manifest(
        format=FORMAT,
        version=__version__,
        revision=revision,
        made_at=stamp,
        database=dump.name,
        database_sha256=_hash(dump),
        objects=listing.name,
        count=len(objects),
        bytes=sum(item.bytes for item in objects),
        secret_key=secret is not None,
    )
    write_private(folder / _MANIFEST, manifest.model_dump_json(indent=2) + "\n")
    for old in (*folder.glob("database-*.dump"), *folder.glob("objects-*.jsonl")):
        if old not in (dump, listing):
            old.unlink()
    _delete_others({item.key for item in objects}, folder / "objects")
    return manifest


def restore(folder: Path, home: Path, progress: Progress = lambda done, total: None) -> Manifest:
    """Restore a backup into `home`, whose database has to be empty; may be repeated after a failure."""
    manifest = _read(folder)
    dump = folder / manifest.database
    if not dump.is_file() or _hash(dump) != manifest.database_sha256:
        raise _damaged(dump.name)
    lines = (folder / manifest.objects).read_text(encoding="utf-8").splitlines()
    objects = [BackupObject.model_validate_json(line) for line in lines]
    lock = FolderLock(make_private(home) / "lock", "the home")
    lock.acquire()
    try:
        with _database(home) as url:
            _require_empty(url)
            _keep_secret(folder, home, manifest)
            _upload(folder / "objects", objects, _store(home), progress)
            _load(dump, url)
    finally:
        lock.release()
    return manifest


def _read(folder: Path) -> Manifest:
    try:
        manifest = Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError) as error:
        raise InvalidInput(
            f"{folder} holds no complete backup: {_MANIFEST} is missing or cannot be read.",
            code="not_a_backup",
            hint="Give the folder that `reinforge backup` wrote.",
        ) from error
    if manifest.format != FORMAT:
        raise InvalidInput(
            f"The backup has format {manifest.format}; this version reads {FORMAT}.",
            code="not_a_backup",
            hint=f"It was made by version {manifest.version}: restore it with that one.",
        )
    return manifest


@contextlib.contextmanager
def _database(home: Path) -> Iterator[str]:
    if url := settings.database_url():
        yield url.replace("postgresql+psycopg://", "postgresql://", 1)
        return
    server = EmbeddedPostgres(home)
    try:
        server.start()
    except StateConflict as error:
        if error.code != "already_running":
            raise
        yield server.url_of_running()
        return
    try:
        yield server.url()
    finally:
        server.stop()


def _store(home: Path) -> ObjectStore:
    url = settings.storage_url() or (home / "objects").resolve().as_uri()
    return open_store(url, s3_endpoint_url=settings.s3_endpoint_url())


def _snapshot(url: str, dump: Path) -> tuple[str, list[BackupObject]]:
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        row = connection.execute("SELECT pg_export_snapshot(), version_num FROM alembic_version").fetchone()
        assert row is not None, "a migrated database has a revision"
        snapshot, revision = row
        rows = connection.execute("SELECT key, sha256, bytes FROM stored_object WHERE state = 'stored'")
        objects = [BackupObject(key=key, sha256=sha256, bytes=size) for key, sha256, size in rows]
        _run(
            "pg_dump",
            url,
            "--format=custom",
            f"--snapshot={snapshot}",
            "--file",
            str(dump),
            code="backup_failed",
        )
    dump.chmod(0o600)
    return revision, sorted(objects, key=lambda item: item.key)


def _download(store: ObjectStore, objects: list[BackupObject], folder: Path, progress: Progress) -> None:
    for done, item in enumerate(objects, 1):
        target = folder / item.key
        if not target.is_file() or target.stat().st_size != item.bytes:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                store.get_file(item.key, target)
            except ObjectNotFound as error:
                raise Unavailable(
                    f"The store lacks the object {item.key}: it was deleted during the backup, or was lost.",
                    code="object_missing",
                    hint="Run the backup again. If the same object is missing again, the store is damaged.",
                ) from error
            if _hash(target) != item.sha256:
                target.unlink()
                raise Unavailable(
                    f"The object {item.key} has changed since it was stored: its SHA-256 differs.",
                    code="object_damaged",
                    hint="The store is damaged: put the object back from an earlier backup.",
                )
        progress(done, len(objects))


def _delete_others(keys: set[str], folder: Path) -> None:
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if str(path.relative_to(folder)) not in keys:
            path.unlink()


def _secret_of(home: Path, folder: Path) -> str | None:
    secrets = [(source / _SECRET).read_text() for source in (home, folder) if (source / _SECRET).exists()]
    if len(set(secrets)) > 1:
        raise StateConflict(
            f"{folder} holds the backup of another platform: its secret key is not this data folder's.",
            code="backup_of_another",
            hint="Name another folder for the backup of this platform.",
        )
    return secrets[0] if (home / _SECRET).exists() else None


def _upload(folder: Path, objects: list[BackupObject], store: ObjectStore, progress: Progress) -> None:
    for done, item in enumerate(objects, 1):
        source = folder / item.key
        if not source.is_file() or _hash(source) != item.sha256:
            raise _damaged(f"objects/{item.key}")
        store.put_file(item.key, source)
        progress(done, len(objects))


def _require_empty(url: str) -> None:
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
    if row is None or row[0] is not None:
        raise StateConflict(
            "The database already holds a platform; a restore never overwrites one.",
            code="home_not_empty",
            hint="Restore into a new folder (--home), or into an empty database (DATABASE_URL).",
        )


def _keep_secret(folder: Path, home: Path, manifest: Manifest) -> None:
    if not manifest.secret_key or settings.secret_key():
        return
    secret = (folder / _SECRET).read_text()
    target = home / _SECRET
    if target.exists() and target.read_text() != secret:
        raise StateConflict(
            f"{target} is not the backup's secret key: the secrets in the database could not be decrypted.",
            code="secret_key_differs",
            hint="Restore into a new folder (--home).",
        )
    write_private(target, secret)


def _run(program: str, url: str, *arguments: str, code: str) -> None:
    result = subprocess.run(
        [find_programs() / "bin" / program, *arguments],
        env=_environment(url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        raise Unavailable(f"{program} failed: {result.stdout.strip()[-2000:]}", code=code)


def _load(dump: Path, url: str) -> None:
    programs = find_programs() / "bin"
    with tempfile.TemporaryFile() as errors:
        script = subprocess.Popen(
            [programs / "pg_restore", "--no-owner", "--no-privileges", "--file=-", dump],
            env=_environment(url),
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        load = subprocess.Popen(
            [programs / "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null"],
            env=_environment(url),
            stdin=subprocess.PIPE,
            stderr=errors,
        )
        assert script.stdout is not None
        assert load.stdin is not None
        # psql may end before the script does, and says why in `errors`.
        with contextlib.suppress(BrokenPipeError), load.stdin:
            with script.stdout:
                load.stdin.write(b"BEGIN;\n")
                copy_script(script.stdout, load.stdin)
            if script.wait() == 0:
                load.stdin.write(b"COMMIT;\n")
        if load.wait() != 0 or script.wait() != 0:
            errors.seek(0)
            message = errors.read().decode(errors="replace").strip()[-2000:]
            raise Unavailable(f"Could not restore the database: {message}", code="restore_failed")


def copy_script(script: IO[bytes], to: IO[bytes]) -> None:
    """Copy a `pg_restore` script without `transaction_timeout`, which PostgreSQL before 17 refuses."""
    for line in script:
        if line != b"SET transaction_timeout = 0;\n":
            to.write(line)
        if line.startswith((b"CREATE ", b"COPY ")):
            break
    shutil.copyfileobj(script, to)


def _environment(url: str) -> dict[str, str]:
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(url)
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE",
             "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT"}  # fmt: skip
    connection = {names[name]: str(value) for name, value in parts.items() if name in names}
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **connection}


def _damaged(name: str) -> InvalidInput:
    return InvalidInput(
        f"The backup is damaged: {name} is missing or has changed.",
        code="backup_damaged",
        hint="Use another copy of the backup. The database was not changed.",
    )


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

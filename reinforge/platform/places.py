"""Private folders, secrets and sockets of the platform, and the lock of its data folder (home)."""

import fcntl
import hashlib
import os
import secrets
import stat
from pathlib import Path

from reinforge import settings
from reinforge.errors import StateConflict, Unavailable

ADDRESS_FILE = "address"
_SOCKET_PATH_LIMIT = 100


def make_private(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def write_private(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def keep_secret(path: Path) -> str:
    """The secret at `path`, created at first use; safe for concurrent processes."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        pass
    make_private(path.parent)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    write_private(fresh, secrets.token_urlsafe(32) + "\n")
    try:
        os.link(fresh, path)  # unlike a rename, fails when another process was first
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text().strip()


def shared_prefix() -> Path:
    """Folder that other users can reach but not change, made if missing. Raises Unavailable if unusable."""
    prefix = settings.prefix()
    hint = (
        "Set REINFORGE_PREFIX to a folder that root owns and every user may traverse, such as /srv/reinforge."
    )
    try:
        prefix.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(
            f"cannot make the folder {prefix}: {error.strerror}", code="prefix_unusable", hint=hint
        ) from error
    for folder in (prefix, *prefix.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            raise Unavailable(
                f"{prefix} cannot be reached by other users, because {folder} is closed to them",
                code="prefix_unusable",
                hint=hint,
            )
    if prefix.stat().st_uid != os.geteuid() or prefix.stat().st_mode & stat.S_IWOTH:
        raise Unavailable(f"{prefix} can be changed by other users", code="prefix_unusable", hint=hint)
    return prefix


def socket_folder(beside: Path, longest_name: str, owner: int | None = None) -> Path:
    """Create a folder for Unix sockets, mode 0700: `beside`/run, or one in /tmp if that path is too long."""
    folder = beside / "run"
    if len(os.fsencode(folder / longest_name)) > _SOCKET_PATH_LIMIT:
        digest = hashlib.sha256(os.fsencode(beside.resolve())).hexdigest()[:12]
        folder = Path("/tmp") / f"reinforge-{os.geteuid()}-{digest}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()  # anybody may have made a folder in /tmp first
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid in (os.geteuid(), owner)
    if not ours or status.st_mode & 0o022:
        raise Unavailable(
            f"{folder} is not a folder of yours, or other users can write to it",
            code="socket_folder_unusable",
            hint=f"Remove {folder}.",
        )
    if owner is not None:
        os.chown(folder, owner, owner)
    return folder


def running_address(home: Path) -> tuple[str, int] | None:
    try:
        with (home / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None  # nobody holds it: the file is left from a platform that was killed
    except BlockingIOError:
        pass
    except OSError:
        return None
    try:
        host, _, port = (home / ADDRESS_FILE).read_text().strip().rpartition(" ")
        return host, int(port)
    except (OSError, ValueError):
        return None


class FolderLock:
    """One process holds it until it releases the lock or ends."""

    def __init__(self, path: Path, what: str) -> None:
        self._path = path
        self._what = what
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def acquire(self) -> None:
        if self._descriptor is not None:
            return
        make_private(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise StateConflict(
                f"{self._what} {self._path.parent} is in use by process {holder}",
                code="already_running",
                hint="Stop that process, or use another folder by setting REINFORGE_HOME.",
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

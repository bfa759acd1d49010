"""Jail **N**: namespaces made by bubblewrap, then the filters and limits of jail L."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.sandbox.jails import bpf
from worker.sandbox.jails.base import Running, common_configuration, jail_environment, start, zygote_command
from worker.sandbox.jails.prefix import Prefix

_PYTHON, _PROGRAM, _SITE = "/opt/python", "/opt/program", "/opt/site"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
_SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
_SYSTEM_LINKS = ("/lib", "/lib64", "/usr/lib64")
_USER = 1000
_OLDEST = (0, 5)
"""Oldest accepted version: bubblewrap 0.5 added ``--clearenv``."""
_TEARDOWN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class NamespaceJail:
    prefix: Prefix
    name: str = "N"

    def missing(self) -> str | None:
        unsupported = bpf.unsupported()
        if unsupported:
            return unsupported
        program = _bubblewrap()
        if program is None:
            return "bubblewrap is not installed (package bubblewrap)"
        version = _version(program)
        if version is None or version < _OLDEST:
            version_text = ".".join(map(str, version)) if version else "of unknown version"
            return f"bubblewrap {'.'.join(map(str, _OLDEST))} or later is needed, {program} is {version_text}"
        return None

    def launch(self, channel: socket.socket) -> Running:
        program = _bubblewrap()
        if program is None:
            raise OSError("bubblewrap is not installed")
        info_reader, info_writer = os.pipe()
        try:
            command = [
                program,
                *self.walls(),
                "--info-fd",
                str(info_writer),
                "--",
                *self._zygote(channel.fileno()),
            ]
            process = start(command, {}, channel.fileno(), info_writer)
        except BaseException:
            os.close(info_reader)
            raise
        finally:
            os.close(info_writer)
        return RunningInNamespaces(process, info_reader)

    def walls(self) -> list[str]:
        environment = jail_environment(self.prefix) | {"LD_LIBRARY_PATH": self._inside(self.prefix.libraries)}
        arguments = [
            "--unshare-user", "--uid", str(_USER), "--gid", str(_USER), "--unshare-pid", "--as-pid-1",
            "--unshare-net", "--unshare-ipc", "--unshare-uts", "--hostname", "sandbox", "--unshare-cgroup-try",
            "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
        ]  # fmt: skip
        for name, value in environment.items():
            arguments += ["--setenv", name, value]
        for outside, inside in self._bound():
            arguments += ["--ro-bind", outside, inside]
        for link in _SYSTEM_LINKS:  # most systems have their libraries in /usr alone
            if Path(link).is_symlink():
                arguments += ["--symlink", str(Path(link).readlink()), link]
        arguments += ["--dir", "/dev"]
        for device in _DEVICES:
            arguments += ["--dev-bind", device, device]
        # bubblewrap's root is a tmpfs of half the memory: it is closed once everything hangs in it
        return [*arguments, "--remount-ro", "/", "--chdir", "/"]

    def configuration(self) -> dict[str, Any]:
        return {
            **common_configuration(self.prefix, _PROGRAM, self._inside(self.prefix.site)),
            "parent": 0,  # process 1 has no parent that it could see
            "readable": None,
        }

    def _zygote(self, channel: int) -> list[str]:
        return zygote_command(self._inside(self.prefix.python), _PROGRAM, channel)

    def _bound(self) -> Iterator[tuple[str, str]]:
        root = self.prefix.python.parents[1]
        yield str(root), _PYTHON
        yield str(self.prefix.program), _PROGRAM
        if not self.prefix.site.is_relative_to(root):
            yield str(self.prefix.site), _SITE
        system = [path for path in self.prefix.readable if path.startswith(_SYSTEM_FOLDERS)]
        if Path("/lib64").is_dir():  # where programs name the loader of shared libraries
            system.append("/lib64")
        for path in sorted({os.path.realpath(path) for path in system}):
            yield path, path

    def _inside(self, path: Path) -> str:
        root = self.prefix.python.parents[1]
        return f"{_PYTHON}/{path.relative_to(root)}" if path.is_relative_to(root) else _SITE


class RunningInNamespaces(Running):
    def __init__(self, process: "subprocess.Popen[bytes]", info_pipe: int) -> None:
        super().__init__(process)
        self._info_pipe = info_pipe
        self._init = -1
        self._init_pid = process.pid

    @property
    def pid(self) -> int:
        return self._init_pid

    def settled(self) -> None:
        try:
            self._init_pid = int(json.loads(os.read(self._info_pipe, 4096))["child-pid"])
            self._init = os.pidfd_open(self._init_pid)
        except (ValueError, KeyError, TypeError) as error:
            raise OSError(f"bubblewrap did not report its process id: {error}") from error

    def kill(self) -> None:
        if self._init >= 0 and not self.ended():
            with contextlib.suppress(ProcessLookupError):  # it is dead, and bubblewrap is about to end, too
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
                return
        self._process.kill()  # process 1 dies with its parent

    def wait(self) -> None:
        super().wait()
        if self._init >= 0:  # the kernel kills the rest of the tree with process 1, asynchronously
            poll = select.poll()
            poll.register(self._init, select.POLLIN)
            poll.poll(1000 * _TEARDOWN_SECONDS)
            os.close(self._init)
        os.close(self._info_pipe)
        self._info_pipe = self._init = -1


def _bubblewrap() -> str | None:
    return shutil.which("bwrap")


def _version(program: str) -> tuple[int, ...] | None:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match else None

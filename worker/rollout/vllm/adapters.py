"""Which adapters a vLLM server holds: every version under a name and in a folder of its own.

vLLM remembers prompts by the adapter's name and path, so that neither is ever used twice. Unloading only takes the
name away; a request that still looks for it would read the folder, which therefore goes one publication later.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from worker.rollout.engine import GenerateRequest
from worker.rollout.vllm.options import BASE


@dataclass(frozen=True, slots=True)
class Version:
    policy: str
    version: int
    name: str
    """On the server."""
    folder: Path
    ours: bool
    """The folder was made for the server."""


class Adapters:
    def __init__(self, root: Path, *, staleness: int = 0) -> None:
        """staleness: versions before the newest that may still be asked for."""
        self._root, self._retained = root, staleness + 1
        self._held: list[Version] = []
        self._leaving: list[Version] = []
        self._serial = 0

    @property
    def held(self) -> list[Version]:
        """Those that the server is to know, the oldest first."""
        return list(self._held)

    def new(self, policy: str, version: int, path: Path | None) -> Version:
        """A version that is about to be loaded; without `path` its folder is to be written."""
        self._serial += 1
        name = f"{policy}-{version}-{self._serial}"
        return Version(policy, version, name, path or self._root / name, ours=path is None)

    def add(self, new: Version) -> list[Version]:
        """Note that the server holds it; those that it is to forget now."""
        for old in self._leaving:
            discard(old)
        older = [
            version
            for version in self._held
            if version.policy == new.policy and version.version != new.version
        ]
        retained = older[len(older) - self._retained + 1 :] if self._retained > 1 else []
        self._leaving = [
            version for version in self._held if version.policy == new.policy and version not in retained
        ]
        self._held = [version for version in self._held if version not in self._leaving] + [new]
        return list(self._leaving)

    def name(self, request: GenerateRequest) -> str:
        """What the server calls the weights that are asked for. Raises ValueError for a version it does not hold."""
        if request.policy is None:
            return BASE
        names = {version.version: version.name for version in self._held if version.policy == request.policy}
        if request.version not in names:
            held = ", ".join(map(str, sorted(names))) or "none"
            raise ValueError(f"asked for {request.policy} version {request.version}, the engine holds {held}")
        return names[request.version]


def discard(version: Version) -> None:
    if version.ours:
        shutil.rmtree(version.folder, ignore_errors=True)

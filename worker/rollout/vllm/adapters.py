"""Adapters on a vLLM server. vLLM caches prompts by adapter name and folder, so neither is reused."""

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
    folder: Path
    owned: bool


class Adapters:
    def __init__(self, root: Path, *, staleness: int = 0) -> None:
        self._root, self._retained = root, staleness + 1
        self._held: list[Version] = []
        self._leaving: list[Version] = []
        self._serial = 0

    @property
    def held(self) -> list[Version]:
        return list(self._held)

    def new(self, policy: str, version: int, path: Path | None) -> Version:
        self._serial += 1
        name = f"{policy}-{version}-{self._serial}"
        return Version(policy, version, name, path or self._root / name, owned=path is None)

    def add(self, new: Version) -> list[Version]:
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
        if request.policy is None:
            return BASE
        names = {version.version: version.name for version in self._held if version.policy == request.policy}
        if request.version not in names:
            present = ", ".join(map(str, sorted(names))) or "none"
            raise ValueError(
                f"requested {request.policy} version {request.version}, but the engine has {present}"
            )
        return names[request.version]


def discard(version: Version) -> None:
    if version.owned:
        shutil.rmtree(version.folder, ignore_errors=True)

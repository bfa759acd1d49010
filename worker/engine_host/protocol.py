"""Wire shapes of an engine host's API. Completions and scores are vLLM's own.

GET    /v1/host                              HostFacts
POST   /v1/leases                            LeaseRequest → HostLease
PUT    /v1/leases/{lease}                    heartbeat
DELETE /v1/leases/{lease}                    drops its adapters
PUT    /v1/leases/{lease}/adapters/{name}    query `config`: bytes of adapter_config.json, which the weights follow
DELETE /v1/leases/{lease}/adapters/{name}
GET    /v1/leases/{lease}/health             vLLM's routes, for the lease's own adapter names
GET    /v1/leases/{lease}/v1/models
POST   /v1/leases/{lease}/v1/completions
POST   /v1/end                               ends an unused host, over its Unix socket only
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reinforge.system.process_table import ProcessIdentity, identify

PROTOCOL = 1
LEASE_SECONDS = 30.0
HostState = Literal["stopped", "starting", "ready", "failed"]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class HostFacts(_Shape):
    protocol: int
    release: str
    vllm: str
    model_sha256: str
    dtype: str
    device: str
    max_model_len: int
    max_rank: int
    max_adapters: int
    state: HostState
    stage: tuple[int, int, str]
    """Steps of the start that are done, their count, and the present one."""
    failure: str | None = None
    log_end: str = ""
    starts: int = 0
    leases: int = 0
    adapters: int = 0
    pid: int
    server_pid: int | None = None
    """Session id of vLLM's processes."""


class LocalProcess(_Shape):
    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "LocalProcess | None":
        identity = identify(pid)
        return None if identity is None else cls(pid=pid, started=identity.started)

    @property
    def alive(self) -> bool:
        return identify(self.pid) == ProcessIdentity(self.pid, self.started)


class LeaseRequest(_Shape):
    protocol: int
    model_sha256: str
    dtype: str
    longest: int = Field(ge=1)
    """Most tokens of a prompt and its completion."""
    rank: int = Field(ge=0)
    client: LocalProcess | None = None
    """Process on the host's machine, at whose end the lease ends at once."""
    worker: LocalProcess | None = None
    """Process that started the client: an unused host ends after all of them have ended."""


class HostLease(_Shape):
    lease: str
    seconds: float
    """The lease ends so long after its last heartbeat or request."""
    facts: HostFacts

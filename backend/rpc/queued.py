"""RPC requests as stored: references in place of secrets."""

from reinforge.schemas.rpc.adapters import AdapterInspection
from reinforge.schemas.rpc.base import RpcModel
from reinforge.schemas.rpc.models import InspectRequest, RenderingRequest
from reinforge.schemas.rpc.rewards import GraderScoring
from reinforge.schemas.rpc.sampling import SamplingRequest
from reinforge.schemas.rpc.tools import ServersRequest, ToolRunRequest


class SecretReferences(RpcModel):
    model_key: str | None = None
    token_of: str | None = None
    """Key of a model that is being added. `token_sealed` is encrypted for this model."""
    token_sealed: str | None = None
    project: str | None = None
    judge_names: list[str] = []


class QueuedRendering(RenderingRequest, SecretReferences):
    pass


class QueuedInspection(InspectRequest, SecretReferences):
    pass


class QueuedAdapterInspection(AdapterInspection, SecretReferences):
    pass


class QueuedSampling(SamplingRequest, SecretReferences):
    pass


class QueuedServers(ServersRequest, SecretReferences):
    pass


class QueuedToolRun(ToolRunRequest, SecretReferences):
    pass


class QueuedGrading(GraderScoring, SecretReferences):
    pass

"""Requests of RPCs as they wait in the database: references in place of secrets (`backend.workers.call_secrets`)."""

from reinforge.schemas.rpc.base import RpcModel
from reinforge.schemas.rpc.models import InspectRequest, RenderingRequest
from reinforge.schemas.rpc.rewards import GraderScoring
from reinforge.schemas.rpc.sampling import SamplingRequest


class SecretReferences(RpcModel):
    """Removed when a worker takes the call, and replaced by what they refer to."""

    model_key: str | None = None
    """The model whose hub token is needed, if it has one."""
    token_of: str | None = None
    """Key of a model that is being added; opens `token_sealed`."""
    token_sealed: str | None = None
    project: str | None = None
    """Owner of the judges."""
    judge_names: list[str] = []


class QueuedRendering(RenderingRequest, SecretReferences):
    pass


class QueuedInspection(InspectRequest, SecretReferences):
    pass


class QueuedSampling(SamplingRequest, SecretReferences):
    pass


class QueuedGrading(GraderScoring, SecretReferences):
    pass

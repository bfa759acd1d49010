"""RPC `inspect_adapter`: does an adapter fit its base model?"""

from pydantic import TypeAdapter

from reinforge.schemas.rpc.base import Rpc, RpcModel
from reinforge.schemas.rpc.models import ModelRequest
from reinforge.schemas.rpc.sampling import AdapterArchive


class AdapterInspection(ModelRequest):
    adapter: AdapterArchive


class AdapterFacts(RpcModel):
    layers: int


INSPECT_ADAPTER = Rpc("inspect_adapter", TypeAdapter(AdapterInspection), TypeAdapter(AdapterFacts))

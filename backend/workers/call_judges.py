"""Judges of an RPC: resolved to connections and keys only when a worker takes the call."""

from backend.data.sealing import Sealer
from backend.judges import service as judges
from backend.rpc.client import Calls
from reinforge.errors import ReinforgeError
from reinforge.schemas.worker_api import CallMessage


async def with_judges(message: CallMessage, calls: Calls, sealer: Sealer) -> CallMessage | None:
    """The call with its judges' connections and keys; None if they cannot be resolved, which is then the
    call's error.
    """
    payload = dict(message.payload)
    project = str(payload.pop("project"))
    try:
        async with calls.database.transaction() as session:
            connections, keys = await judges.delivered(session, project, payload["judges"], sealer)
    except ReinforgeError as error:
        await calls.answer(message.id, None, error.envelope()["error"])
        return None
    payload["judges"] = {name: judge.model_dump(mode="json") for name, judge in connections.items()}
    payload["keys"] = keys
    payload["signing"] = judges.signing_secret(project, sealer)
    return message.model_copy(update={"payload": payload})

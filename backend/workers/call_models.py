"""Tokens of a call about a model from the hub: only what goes to the worker has them."""

from backend.base_models import service as base_models
from backend.calls import Calls
from backend.sealing import Sealer
from reinforge.errors import ReinforgeError
from reinforge.schemas.worker_door import CallMessage


async def with_hub_token(message: CallMessage, calls: Calls, sealer: Sealer) -> CallMessage | None:
    """The call with the token that opens its model; None when that cannot be had, which is then its answer."""
    name = "source" if message.kind == "inspect_model" else "model_source"
    source = str(message.payload.get(name) or "")
    try:
        async with calls.database.transaction() as session:
            token = await base_models.hub_token(session, source, sealer)
    except ReinforgeError as error:
        await calls.answer(message.id, None, error.envelope()["error"])
        return None
    if token is None:
        return message
    return message.model_copy(update={"payload": message.payload | {"hub_token": token}})

"""Hub tokens of an RPC's model, decrypted only when a worker takes the call."""

from backend.base_models import service as base_models
from backend.data.sealing import Sealer
from backend.rpc.client import Calls
from reinforge.errors import ReinforgeError
from reinforge.schemas.worker_api import CallMessage


async def with_hub_token(message: CallMessage, calls: Calls, sealer: Sealer) -> CallMessage | None:
    """The call with its model's hub token; None if it cannot be decrypted, which is then the call's error."""
    payload = dict(message.payload)
    owner, sealed = payload.pop("token_of", None), payload.pop("token_sealed", None)
    key = payload.pop("model_key", None)
    try:
        if sealed is not None:
            token: str | None = sealer.open(f"hub:{owner}", sealed)
        elif key is not None:
            async with calls.database.transaction() as session:
                token = await base_models.hub_token(session, str(key), sealer)
        else:
            token = None
    except ReinforgeError as error:
        await calls.answer(message.id, None, error.envelope()["error"])
        return None
    if token is not None:
        payload["hub_token"] = token
    return message.model_copy(update={"payload": payload})

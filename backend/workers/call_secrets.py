"""Secrets of RPCs, decrypted only when a worker takes the call."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.base_models import service as base_models
from backend.data.sealing import Sealer
from backend.judges import service as judges
from backend.rpc.client import Calls
from backend.rpc.queued import SecretReferences
from reinforge.errors import ReinforgeError
from reinforge.schemas.worker_api import CallMessage


async def with_secrets(message: CallMessage, calls: Calls, sealer: Sealer) -> CallMessage | None:
    """The call with secrets in place of references. If that fails, answers it with the error and returns
    None.
    """
    references = SecretReferences.model_validate(message.payload)
    payload = {
        name: value for name, value in message.payload.items() if name not in SecretReferences.model_fields
    }
    try:
        async with calls.database.transaction() as session:
            payload |= await _hub_token(session, references, sealer)
            payload |= await _judges(session, references, sealer)
    except ReinforgeError as error:
        await calls.answer(message.id, None, error.envelope()["error"])
        return None
    return message.model_copy(update={"payload": payload})


async def _hub_token(session: AsyncSession, references: SecretReferences, sealer: Sealer) -> dict[str, Any]:
    token = None
    if references.token_sealed is not None:
        token = sealer.open(f"hub:{references.token_of}", references.token_sealed)
    elif references.model_key is not None:
        token = await base_models.hub_token(session, references.model_key, sealer)
    return {} if token is None else {"hub_token": token}


async def _judges(session: AsyncSession, references: SecretReferences, sealer: Sealer) -> dict[str, Any]:
    project = references.project
    if project is None:
        return {}
    connections, keys = await judges.delivered(session, project, references.judge_names, sealer)
    return {
        "judges": {name: judge.model_dump(mode="json") for name, judge in connections.items()},
        "keys": keys,
        "signing": judges.signing_secret(project, sealer),
    }

"""Endpoints of aliases of adapters."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from backend.access.auth import Reader, Writer
from backend.aliases import service
from backend.data.database import Session
from backend.http.conditional import IfMatch, tagged
from backend.http.strict_json import StrictRoute
from backend.jobs.monitoring.object_cache import ObjectCacheDep
from backend.settings import Settings
from reinforge.schemas.aliases import AliasChangeList, AliasInfo, AliasList, AliasSet

router = APIRouter(prefix="/api/v1", tags=["adapters"], route_class=StrictRoute)
Name = Annotated[str, Path(max_length=100)]


@router.get("/adapters/aliases", operation_id="listAliases")
async def list_aliases(session: Session, who: Reader) -> AliasList:
    """The project's aliases, ordered by name."""
    return AliasList(data=await service.views(session, who.project_id))


@router.get("/adapters/aliases/{name}", operation_id="getAlias")
async def get_alias(name: Name, response: Response, session: Session, who: Reader) -> AliasInfo:
    return tagged(await service.view(session, who.project_id, name), response)


@router.put("/adapters/aliases/{name}", operation_id="setAlias")
async def set_alias(
    name: Name,
    body: AliasSet,
    request: Request,
    response: Response,
    session: Session,
    cache: ObjectCacheDep,
    match: IfMatch,
    who: Writer,
) -> AliasInfo:
    """Promote an adapter: create the alias, or point it to this adapter. A new alias needs no If-Match.

    The alias stands for the adapter in `model` of a chat or of a job, and in `adapter` of a deployment or
    evaluation. 409 `card_not_passed` if its report card does not meet the conditions of `require` or of the
    project.
    """
    settings: Settings = request.app.state.settings
    view = await service.promote(
        session, cache, who, name, body, match, gpu_hour_price=settings.gpu_hour_price
    )
    return tagged(view, response)


@router.delete("/adapters/aliases/{name}", status_code=204, operation_id="deleteAlias")
async def delete_alias(name: Name, session: Session, who: Writer) -> None:
    """Delete an alias. Requests with this name then fail; the adapter and the history stay."""
    await service.remove(session, who, name)


@router.get("/adapters/aliases/{name}/history", operation_id="listAliasChanges")
async def list_alias_changes(name: Name, session: Session, who: Reader) -> AliasChangeList:
    """The newest 200 changes of an alias, newest first. Works for a deleted alias, too."""
    return AliasChangeList(data=await service.history(session, who.project_id, name))

"""Endpoints of LLM judges."""

from fastapi import APIRouter, Request, Response

from backend.access.auth import Reader, SettingsDep, Writer
from backend.data.database import DatabaseDep, Session
from backend.data.sealing import SealerDep
from backend.http.conditional import IfMatch, tagged
from backend.http.idempotency import Once
from backend.http.strict_json import StrictRoute
from backend.judges import service
from reinforge.schemas.common import Page
from reinforge.schemas.judges import JudgeChange, JudgeCreate, JudgeInfo, SigningSecret

router = APIRouter(prefix="/api/v1", tags=["judges"], route_class=StrictRoute)


@router.get("/judges", operation_id="listJudges")
async def list_judges(session: Session, who: Reader) -> Page[JudgeInfo]:
    """All judges of the project, by name."""
    return Page(data=await service.all_of(session, who.project_id))


@router.post("/judges", status_code=201, response_model=JudgeInfo, operation_id="createJudge")
async def create(
    body: JudgeCreate,
    request: Request,
    database: DatabaseDep,
    settings: SettingsDep,
    sealer: SealerDep,
    who: Writer,
    once: Once,
) -> Response:
    """Add a judge. Its API key is stored encrypted and never returned. For owners."""
    await service.check_address(settings.guard, who, body.base_url)
    async with database.transaction() as session:
        if (stored := await once.begin(session, once.request_hash(await request.body()))) is not None:
            return stored
        return await once.finish(session, 201, service.view(await service.create(session, who, body, sealer)))


@router.get("/judges/{id}", operation_id="getJudge")
async def get(id: str, response: Response, session: Session, who: Reader) -> JudgeInfo:
    """A judge, by id or name."""
    return tagged(service.view(await service.get(session, who.project_id, id)), response)


@router.patch("/judges/{id}", operation_id="changeJudge")
async def change(
    id: str,
    body: JudgeChange,
    response: Response,
    database: DatabaseDep,
    settings: SettingsDep,
    sealer: SealerDep,
    match: IfMatch,
    who: Writer,
) -> JudgeInfo:
    """Change a judge. Running jobs use the change from their next attempt on. For owners."""
    if body.base_url is not None:
        await service.check_address(settings.guard, who, body.base_url)
    async with database.transaction() as session:
        return tagged(service.view(await service.change(session, who, id, body, sealer, match)), response)


@router.delete("/judges/{id}", status_code=204, operation_id="deleteJudge")
async def delete(id: str, session: Session, who: Writer) -> None:
    """Delete a judge. For owners."""
    await service.remove(session, who, id)


@router.get("/signing-secret", operation_id="getSigningSecret")
async def signing_secret(sealer: SealerDep, who: Writer) -> SigningSecret:
    """The secret that signs requests to endpoint graders. For owners."""
    return SigningSecret(secret=service.own_signing_secret(who, sealer))

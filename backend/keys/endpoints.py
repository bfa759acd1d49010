"""GET /me · POST /sign-in · POST /sign-in-links · POST /sign-out."""

from fastapi import APIRouter, Request, Response

from backend.auth import COOKIE, SESSION_LIFETIME, Principal, Reader, SettingsDep, check_same_origin
from backend.database import Session
from backend.keys import service
from backend.models import Project
from backend.strict_json import StrictRoute
from reinforge import __version__
from reinforge.schemas.resources import Me, SignIn

router = APIRouter(prefix="/api/v1", tags=["sign-in"], route_class=StrictRoute)


async def _me(session: Session, who: Principal) -> Me:
    project = await session.get_one(Project, who.project_id)
    return Me(
        key=who.id,
        name=who.name,
        role=who.role,
        project=project.id,
        project_name=project.name,
        version=__version__,
        member=who.member_id,
    )


@router.get("/me", operation_id="getMe")
async def me(session: Session, who: Reader) -> Me:
    return await _me(session, who)


@router.post("/sign-in", operation_id="signIn")
async def sign_in(body: SignIn, request: Request, response: Response, session: Session) -> Me:
    """Exchange a one-time token or an API key for a session cookie."""
    if "origin" in request.headers or "sec-fetch-site" in request.headers:
        check_same_origin(request)
    cookie, who = await service.open_browser_session(session, body.token)
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return await _me(session, who)


@router.post("/sign-in-links", operation_id="createSignInLink")
async def create_sign_in_link(session: Session, settings: SettingsDep, who: Reader) -> dict[str, str]:
    """An address that signs one browser in as whoever asks for it; it works once, for ten minutes."""
    url = service.new_sign_in_url(
        session, settings.url, who.project_id, who.role, service.LINK_LIFETIME, who.member_id
    )
    return {"object": "sign_in_link", "url": url}


@router.post("/sign-out", status_code=204, operation_id="signOut")
async def sign_out(request: Request, response: Response, session: Session) -> None:
    """Forget the session cookie; without one nothing happens."""
    if cookie := request.cookies.get(COOKIE):
        check_same_origin(request)
        await service.close_browser_session(session, cookie)
    response.delete_cookie(COOKIE)

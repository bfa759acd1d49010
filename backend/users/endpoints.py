"""Endpoints for sign-in and the user's own account."""

from fastapi import APIRouter, Request, Response

from backend.access.auth import (
    SESSION_LIFETIME,
    Reader,
    SettingsDep,
    check_same_origin,
    cookie_name,
    cookie_of,
    principal_of,
)
from backend.data.database import Session
from backend.http.conditional import IfMatch, tagged
from backend.http.strict_json import StrictRoute
from backend.users import addresses, service, view
from reinforge.errors import NotAuthenticated
from reinforge.schemas.common import Page
from reinforge.schemas.users import (
    AccountUpdate,
    BrowserSession,
    Me,
    OneTimeAddress,
    PasswordReset,
    SignIn,
)

router = APIRouter(prefix="/api/v1", tags=["sign-in"], route_class=StrictRoute)


def browsers(request: Request, session: Session) -> service.Browsers:
    return service.Browsers(session, request.headers.get("user-agent"), cookie_of(request))


def place(request: Request) -> str:
    return request.client.host if request.client else ""


def refuse_other_sites(request: Request) -> None:
    if "origin" in request.headers or "sec-fetch-site" in request.headers:
        check_same_origin(request)


async def signed_in(request: Request, response: Response, session: Session, cookie: str) -> Me:
    """Set the session cookie, which scripts cannot read and other sites do not send."""
    await session.flush()
    who = await principal_of(session, cookie, None)
    if who is None:
        raise NotAuthenticated("The session has ended already.", code="invalid_sign_in_token")
    response.set_cookie(
        cookie_name(request),
        cookie,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    request.state.principal = who
    return await view.me(session, who)


@router.get("/me", operation_id="getMe")
async def me(response: Response, session: Session, who: Reader) -> Me:
    return tagged(await view.me(session, who), response)


@router.patch("/me", operation_id="updateMe")
async def update_me(
    body: AccountUpdate, request: Request, response: Response, session: Session, match: IfMatch, who: Reader
) -> Me:
    """Change one's name, e-mail address or password; a new password signs out other browsers."""
    if who.user_id is not None:
        match.check(await view.me(session, who))
    change = await service.prepare_change(session, who, body, place(request))
    match.check(await view.me(session, who, lock=True))
    await service.update_account(session, who, body, change, cookie_of(request))
    return tagged(await view.me(session, who), response)


@router.get("/me/sessions", operation_id="listMySessions")
async def list_sessions(request: Request, session: Session, who: Reader) -> Page[BrowserSession]:
    """The user's signed-in browsers, newest first; empty for an API key."""
    sessions = await service.sessions(session, who.user_id)
    return Page(data=[view.browser(session_row, cookie_of(request)) for session_row in sessions])


@router.delete("/me/sessions/{id}", status_code=204, operation_id="endMySession")
async def end_session(id: str, session: Session, who: Reader) -> None:
    """Sign out one of the user's browsers."""
    await service.end_session(session, who.user_id, id)


@router.post("/sign-in", operation_id="signIn")
async def sign_in(body: SignIn, request: Request, response: Response, session: Session) -> Me:
    """Exchange a one-time token, an API key, or an e-mail address with password for a session cookie.

    429 `too_many_attempts` after ten wrong passwords in a quarter of an hour.
    """
    refuse_other_sites(request)
    opener = browsers(request, session)
    if body.token is not None:
        cookie = await opener.with_token(body.token)
    else:
        assert body.email is not None
        assert body.password is not None
        cookie = await opener.with_password(body.email, body.password.get_secret_value(), place(request))
    return await signed_in(request, response, session, cookie)


@router.post("/sign-in-links", operation_id="createSignInLink")
async def create_sign_in_link(session: Session, settings: SettingsDep, who: Reader) -> OneTimeAddress:
    """A one-time link that signs a browser in as the caller, valid for ten minutes."""
    url = addresses.new_address(
        session,
        settings.url,
        who.project_id,
        addresses.LINK_LIFETIME,
        user_id=who.user_id,
        key_id=who.key_id,
        maker_id=who.maker_id,
    )
    return OneTimeAddress(url=url)


@router.post("/password-reset", operation_id="resetPassword")
async def reset_password(body: PasswordReset, request: Request, response: Response, session: Session) -> Me:
    """Set a password with a one-time link, and sign in; signs out the user's other browsers."""
    refuse_other_sites(request)
    cookie = await browsers(request, session).reset_password(
        body.token, body.password.get_secret_value(), body.email, place(request)
    )
    return await signed_in(request, response, session, cookie)


@router.post("/sign-out", status_code=204, operation_id="signOut")
async def sign_out(request: Request, response: Response, session: Session) -> None:
    """End the session; no effect without one."""
    if cookie := cookie_of(request):
        check_same_origin(request)
        await service.close_session(session, cookie)
    response.delete_cookie(cookie_name(request), secure=request.url.scheme == "https", httponly=True)

"""Endpoints of a person's e-mail notifications, and the pages that links in e-mails lead to."""

from html import escape
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from backend.access.auth import Reader, SettingsDep
from backend.data.database import Session
from backend.data.sealing import SealerDep
from backend.http.conditional import IfMatch, tagged
from backend.http.idempotency import OnceWhole
from backend.http.strict_json import StrictRoute
from backend.notifications import service
from reinforge.errors import NotFound
from reinforge.schemas.notifications import Notifications, NotificationsUpdate

router = APIRouter(prefix="/api/v1", tags=["sign-in"], route_class=StrictRoute)
page_router = APIRouter(prefix="/mail", include_in_schema=False)

Token = Annotated[str, Query(min_length=1, max_length=2000)]
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}"
    "main{max-width:520px;margin:12vh auto;padding:0 20px}h1{font-size:22px}"
    "button{font:inherit;padding:8px 16px;cursor:pointer}"
)


@router.get("/me/notifications", operation_id="getNotifications")
async def get(response: Response, session: Session, settings: SettingsDep, who: Reader) -> Notifications:
    """E-mail notifications of the signed-in person in this project; none for an API key."""
    return tagged(await service.read(session, settings, who), response)


@router.patch("/me/notifications", operation_id="updateNotifications")
async def update(
    body: NotificationsUpdate,
    response: Response,
    session: Session,
    settings: SettingsDep,
    match: IfMatch,
    who: Reader,
) -> Notifications:
    """Choose the events that are reported by e-mail. Needs a confirmed address."""
    return tagged(await service.update(session, settings, who, body, match), response)


@router.post(
    "/me/notifications/confirmation",
    status_code=202,
    dependencies=[OnceWhole],
    operation_id="sendEmailConfirmation",
)
async def send_confirmation(session: Session, settings: SettingsDep, who: Reader) -> Notifications:
    """Send a link that confirms the account's e-mail address, at most 5 in an hour."""
    return await service.send_confirmation(session, settings, who)


@page_router.get("/confirm")
async def confirm_page(token: Token, session: Session, sealer: SealerDep) -> HTMLResponse:
    """Page with a button that confirms an address: a mail program that opens the link must not confirm it."""
    try:
        address = await service.confirm(session, sealer, token, save=False)
    except NotFound as error:
        return _refusal(error)
    return _page(
        "Confirm your e-mail address", f"Confirm that Reinforge may send e-mail to {address}.", "Confirm"
    )


@page_router.post("/confirm")
async def confirm(token: Token, session: Session, sealer: SealerDep) -> HTMLResponse:
    try:
        address = await service.confirm(session, sealer, token, save=True)
    except NotFound as error:
        return _refusal(error)
    return _page("Address confirmed", f"{address} can now receive e-mail. Choose the events in the settings.")


@page_router.get("/unsubscribe")
async def unsubscribe_page(token: Token, session: Session, sealer: SealerDep) -> HTMLResponse:
    try:
        project = await service.unsubscribe(session, sealer, token, save=False)
    except NotFound as error:
        return _refusal(error)
    return _page("Unsubscribe", f"Stop all e-mail to you about the project {project}.", "Unsubscribe")


@page_router.post("/unsubscribe")
async def unsubscribe(token: Token, session: Session, sealer: SealerDep) -> HTMLResponse:
    """Unsubscribe, also by the one-click request of mail programs (RFC 8058)."""
    try:
        project = await service.unsubscribe(session, sealer, token, save=True)
    except NotFound as error:
        return _refusal(error)
    return _page("Unsubscribed", f"You get no more e-mail about the project {project}.")


def _refusal(error: NotFound) -> HTMLResponse:
    return _page("This link does not work", f"{error.message} {error.hint or ''}", status=404)


def _page(title: str, text: str, button: str | None = None, status: int = 200) -> HTMLResponse:
    form = f'<form method="post"><button>{escape(button)}</button></form>' if button else ""
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>{escape(title)} · Reinforge</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p>{form}</main></body></html>\n"
    )
    return HTMLResponse(html, status, _HEADERS)

"""Sending of e-mail through the SMTP server of the settings."""

import smtplib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage

from backend.settings import Settings

TIMEOUT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class MailOutcome:
    error: str | None = None
    permanent: bool = False


def send_all(settings: Settings, messages: Sequence[EmailMessage]) -> list[MailOutcome]:
    outcomes: list[MailOutcome] = []
    try:
        with _connect(settings) as server:
            for message in messages:
                outcomes.append(_send(server, message))
    except (OSError, smtplib.SMTPException) as error:
        failure = MailOutcome(f"{type(error).__name__}: {_text(error)}")
        outcomes += [failure] * (len(messages) - len(outcomes))
    return outcomes


def _connect(settings: Settings) -> smtplib.SMTP:
    host = settings.smtp_host or ""
    context = ssl.create_default_context()
    server: smtplib.SMTP
    if settings.smtp_tls == "tls":
        port = settings.smtp_port or 465
        server = smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_SECONDS, context=context)
    else:
        port = settings.smtp_port or (587 if settings.smtp_tls == "starttls" else 25)
        server = smtplib.SMTP(host, port, timeout=TIMEOUT_SECONDS)
    try:
        if settings.smtp_tls == "starttls":
            server.starttls(context=context)
        if settings.smtp_user and settings.smtp_password:
            server.login(settings.smtp_user, settings.smtp_password.get_secret_value())
    except BaseException:
        server.close()
        raise
    return server


def _send(server: smtplib.SMTP, message: EmailMessage) -> MailOutcome:
    try:
        server.send_message(message)
    except smtplib.SMTPServerDisconnected:
        raise
    except smtplib.SMTPRecipientsRefused as error:
        [(code, text)] = error.recipients.values()
        return MailOutcome(f"{code} {_decoded(text)}"[:500], permanent=code >= 500)
    except smtplib.SMTPResponseException as error:
        return MailOutcome(f"{error.smtp_code} {_decoded(error.smtp_error)}"[:500], error.smtp_code >= 500)
    except smtplib.SMTPException as error:
        return MailOutcome(f"{type(error).__name__}: {_text(error)}", permanent=True)
    return MailOutcome()


def _text(error: Exception) -> str:
    """Text of an error, without the credentials that a server may repeat."""
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return f"the server refuses the user name or password ({error.smtp_code})"
    return str(error)[:500]


def _decoded(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text

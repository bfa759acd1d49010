"""Texts of e-mails: plain, and the same as HTML."""

import unicodedata
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from html import escape

from backend.models import Mail
from backend.notifications.repository import CONFIRMATION

_TITLES = {
    "fine_tuning.job.running": "Running",
    "fine_tuning.job.paused": "Paused",
    "fine_tuning.job.succeeded": "Succeeded",
    "fine_tuning.job.failed": "Failed",
    "fine_tuning.job.cancelled": "Cancelled",
    "fine_tuning.job.finding": "Finding",
    "evaluation.succeeded": "Evaluation succeeded",
    "evaluation.failed": "Evaluation failed",
}
_SUBJECT_CHARACTERS = 150
_TEXT_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class MailContent:
    title: str
    subject: str
    lines: list[str]
    button: str
    url: str
    footer: str
    unsubscribe: str | None = None
    facts: dict[str, str] = field(default_factory=dict)


def one_line(text: str) -> str:
    spaced = "".join(" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text)
    return " ".join("".join(char for char in spaced if unicodedata.category(char)[0] != "C").split())


def event_content(mail: Mail, project: str, base_url: str, unsubscribe: str) -> MailContent:
    data, title = mail.data, _TITLES.get(mail.type, mail.type)
    name = one_line(str(data.get("name") or data["id"]))
    lines = [str(data[key]) for key in ("verdict_message", "message", "hint") if data.get(key)]
    if data.get("last_of_hour"):
        lines.append(
            "There were too many messages: this is the last one of this hour. The page shows the rest."
        )
    facts = {"Project": project, "Status": data.get("status"), "Reason": data.get("reason")}
    if data.get("step") is not None:
        facts["Step"] = str(data["step"])
    path = "evaluations" if mail.type.startswith("evaluation.") else "jobs"
    return MailContent(
        title=f"{title}: {name}",
        subject=f"{title}: {name}",
        facts={key: one_line(str(value))[:200] for key, value in facts.items() if value},
        lines=[one_line(line)[:_TEXT_CHARACTERS] for line in lines],
        button="Open the evaluation" if path == "evaluations" else "Open the job",
        url=f"{base_url}/{path}/{data['id']}",
        footer=f"You get this because you subscribed to it in the project {one_line(project)}.",
        unsubscribe=unsubscribe,
    )


def confirmation_content(address: str, base_url: str, url: str) -> MailContent:
    """No text that a user can choose: the address may be somebody else's."""
    return MailContent(
        title="Confirm your e-mail address",
        subject="Confirm your e-mail address",
        lines=[
            f"A member of the Reinforge server {base_url} would like to receive e-mail at {address}.",
            "The link is valid for 24 hours.",
        ],
        button="Confirm the address",
        url=url,
        footer="If you do not know about this, ignore this message: nothing is sent without a confirmation.",
    )


def message(mail: Mail, content: MailContent, sender: str) -> EmailMessage:
    email = EmailMessage()
    name, address = parseaddr(sender)
    email["From"] = f"{name} <{address}>" if name else address
    email["To"] = mail.address
    email["Subject"] = f"[Reinforge] {content.subject}"[:_SUBJECT_CHARACTERS]
    email["Date"] = format_datetime(mail.created_at)
    email["Message-ID"] = f"<{mail.id}@{address.rpartition('@')[2]}>"
    email["Auto-Submitted"] = "auto-generated"
    if mail.type != CONFIRMATION and content.unsubscribe:
        email["List-Unsubscribe"] = f"<{content.unsubscribe}>"
        email["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    email.set_content(_plain(content))
    email.add_alternative(_html(content), subtype="html")
    return email


def _plain(content: MailContent) -> str:
    facts = [f"{key}: {value}" for key, value in content.facts.items()]
    parts = [
        content.title,
        "\n".join(facts),
        *content.lines,
        f"{content.button}: {content.url}",
        content.footer,
    ]
    if content.unsubscribe:
        parts.append(f"Unsubscribe: {content.unsubscribe}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _html(content: MailContent) -> str:
    facts = "".join(f"<li>{escape(key)}: <b>{escape(value)}</b></li>" for key, value in content.facts.items())
    lines = "".join(f"<p>{escape(line)}</p>" for line in content.lines)
    link = f'<p><a href="{escape(content.url)}">{escape(content.button)}</a></p>'
    end = escape(content.footer)
    if content.unsubscribe:
        end += f' <a href="{escape(content.unsubscribe)}">Unsubscribe</a>'
    return (
        '<!doctype html><html lang="en"><body style="font-family:sans-serif;max-width:600px">'
        f"<h2>{escape(content.title)}</h2>{f'<ul>{facts}</ul>' if facts else ''}{lines}{link}"
        f'<p style="color:#666;font-size:13px">{end}</p></body></html>\n'
    )

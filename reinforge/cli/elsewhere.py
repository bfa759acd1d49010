"""Hints for unknown commands, naming the command to use instead."""

import re
from typing import Any

HINTS = {
    "config": "`reinforge login` stores server and key; `reinforge whoami` shows them.",
    "logout": "Revoke the key: reinforge key list, then reinforge key revoke ID.",
    "logs": "`reinforge job logs ID` shows a job's log. The platform's logs are in its data folder, in `logs`.",
    "status": "`reinforge job list` shows jobs, `reinforge doctor` this machine, and GET /readyz the server.",
    "job compare": "reinforge compare JOB JOB",
    "job start": "reinforge job create -f job.yaml",
    "job status": "reinforge job show ID",
    "models show": "reinforge models list --json",
}
HINTS |= {
    "metrics": "reinforge job metrics ID",
    "webhooks": "reinforge webhook list",
}
HINTS |= {"workers": "reinforge worker list", "jobs": "reinforge job list"}


def hint(error: Any) -> str | None:
    context, match = getattr(error, "ctx", None), re.match(r"No such command '([^']+)'", str(error))
    if context is None or match is None:
        return None
    names = [match[1]]
    while context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return HINTS.get(" ".join(names))

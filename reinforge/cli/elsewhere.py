"""Where to find what people look for as a command, and what is not one."""

import re
from typing import Any

_PYTHON = "In Python: "
_NO_DELETE = "Jobs are not deleted one by one; their project is: reinforge project delete."

HINTS = {
    "config": "`reinforge login` stores server and key; `reinforge whoami` shows them.",
    "logout": "Revoke the key: reinforge key list, then reinforge key revoke ID.",
    "logs": "Logs of a job are on its page; `reinforge job watch ID` follows its steps. "
    f"{_PYTHON}Reinforge().jobs.logs(ID). Logs of the platform's processes are in `logs` in its data folder.",
    "status": "`reinforge job list` shows jobs, `reinforge doctor` this machine, GET /readyz the server.",
    "sweep": "One `reinforge job create -f job.yaml --set PATH=VALUE` for each value, or a loop in Python over "
    "Reinforge().jobs.create(spec).",
    "webhook": f"Settings → Webhooks on the page. {_PYTHON}Reinforge().webhooks.create(…).",
    "worker": "docs/workers.md starts one. `reinforge doctor` says how many are online. "
    f"{_PYTHON}Reinforge().workers.list().",
    "job compare": "`reinforge job list` has held-out rewards beside each other; `reinforge eval` and `reinforge gate` "
    "compare two jobs on the same rows.",
    "job delete": _NO_DELETE,
    "job logs": f"On the job's page. {_PYTHON}Reinforge().jobs.logs(ID). "
    "`reinforge job watch ID` follows its steps.",
    "job metrics": f"On the job's page. {_PYTHON}Reinforge().jobs.metrics(ID).",
    "job start": "reinforge job create -f job.yaml",
    "job status": "reinforge job show ID",
    "member role": f"Settings → People on the page. {_PYTHON}Reinforge().members.change(…).",
    "models show": "reinforge models list --json",
}
HINTS |= {"metrics": HINTS["job metrics"], "compare": HINTS["job compare"], "webhooks": HINTS["webhook"]}
HINTS |= {"workers": HINTS["worker"], "jobs": "reinforge job list"}


def hint(error: Any) -> str | None:
    """For a usage error of the command-line parser about an unknown command: what has it instead; None if unknown."""
    context, match = getattr(error, "ctx", None), re.match(r"No such command '([^']+)'", str(error))
    if context is None or match is None:
        return None
    names = [match[1]]
    while context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return HINTS.get(" ".join(names))

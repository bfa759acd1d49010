"""Known vulnerabilities of what requirements.lock and frontend/package-lock.json pin: `make audit`.

Python packages are looked up at OSV in one request: the database of `pip-audit -s osv`, with severities, which
pip-audit leaves out. npm packages are looked up by `npm audit`. A finding of moderate, higher or unknown severity
fails unless scripts/audit.toml accepts it. A server that does not answer in time is reported and does not fail the
check, since no change can be to blame for it.
"""

import argparse
import asyncio
import datetime
import json
import os
import re
import signal
import sys
import tomllib
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
OSV = "https://api.osv.dev"
SECONDS = 25.0
SEVERITIES = ("low", "moderate", "high", "critical")
"""From harmless to bad. npm has an `info` below, OSV's GitHub advisories say these in capitals."""
AT_ONCE = 8
ADVISORY = re.compile(r"GHSA(-\w{4}){3}", re.IGNORECASE)


class NotReachable(Exception):
    """Nothing is known; the message says why."""


@dataclass(frozen=True)
class Vulnerability:
    """One vulnerability of one package. ids: its names in all databases, aliases too. severity: None when unknown."""

    package: str
    ids: frozenset[str]
    severity: str | None
    about: str

    @property
    def counts(self) -> bool:
        return self.severity is None or self.severity in SEVERITIES[1:]

    def __str__(self) -> str:
        return f"{self.package}: {', '.join(sorted(self.ids))} ({self.severity or 'severity unknown'}) {self.about}"


@dataclass(frozen=True)
class Accepted:
    """A vulnerability that does not fail the audit up to a day."""

    id: str
    reason: str
    until: datetime.date


def accepted_in(path: Path) -> list[Accepted]:
    """Raises ValueError for an entry without id, reason or day."""
    entries = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("accepted", []):
        id, reason, until = (entry.get(name) for name in ("id", "reason", "until"))
        if not (id and isinstance(reason, str) and reason.strip() and type(until) is datetime.date):
            raise ValueError(f"{path.name}: {entry} needs an id, a reason, and a day as until = 2027-01-31")
        entries.append(Accepted(str(id), reason, until))
    return entries


def pinned(lock: Path) -> list[tuple[str, str]]:
    """(package, version) of a requirements file, with or without hashes."""
    lines = (line.partition("#")[0].strip(" \\") for line in lock.read_text(encoding="utf-8").splitlines())
    return [(name, version) for name, _, version in (line.partition("==") for line in lines) if version]


async def python_findings(lock: Path, osv: str) -> list[Vulnerability]:
    """Raises NotReachable."""
    packages = pinned(lock)
    async with httpx.AsyncClient(base_url=osv, timeout=SECONDS) as client:
        ids_of = await _ids(client, packages)
        places = asyncio.Semaphore(AT_ONCE)
        ids = sorted({id for names in ids_of.values() for id in names})
        read = dict(
            zip(ids, await asyncio.gather(*(_advisory(client, places, id) for id in ids)), strict=True)
        )
    return [
        finding
        for (name, version), named in ids_of.items()
        for finding in merged(osv_finding(f"{name} {version}", id, read[id]) for id in named)
    ]


async def _ids(
    client: httpx.AsyncClient, packages: list[tuple[str, str]]
) -> dict[tuple[str, str], list[str]]:
    """Of the vulnerabilities of each package. Raises NotReachable."""
    ids_of: dict[tuple[str, str], list[str]] = {package: [] for package in packages}
    pending: list[tuple[tuple[str, str], str | None]] = [(package, None) for package in packages]
    while pending:
        queries = [
            {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
            | ({"page_token": page} if page else {})
            for (name, version), page in pending
        ]
        try:
            answer = await client.post("/v1/querybatch", json={"queries": queries})
            answer.raise_for_status()
            results = answer.json()["results"]
            pages = []
            for (package, _), result in zip(pending, results, strict=True):
                ids_of[package] += [str(entry["id"]) for entry in result.get("vulns") or []]
                if page := result.get("next_page_token"):
                    pages.append((package, str(page)))
        except httpx.HTTPStatusError as error:
            raise NotReachable(f"{answer.url} answers {error.response.status_code}") from error
        except httpx.HTTPError as error:
            raise NotReachable(f"{client.base_url}: {error or type(error).__name__}") from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise NotReachable(
                f"{answer.url} does not answer as OSV does ({type(error).__name__}: {error})"
            ) from error
        pending = list(pages)
    return ids_of


async def _advisory(client: httpx.AsyncClient, places: asyncio.Semaphore, id: str) -> dict[str, Any]:
    """What OSV has on it; nothing where that cannot be read: that it is there is known all the same."""
    async with places:
        try:
            answer = await client.get(f"/v1/vulns/{id}")
            advisory = answer.raise_for_status().json()
        except (httpx.HTTPError, ValueError):
            return {}
    return advisory if isinstance(advisory, dict) else {}


def osv_finding(package: str, id: str, read: dict[str, Any]) -> Vulnerability | None:
    """None for an advisory that was withdrawn."""
    if read.get("withdrawn"):
        return None
    ids = frozenset({id, *map(str, read.get("aliases") or [])})
    severity = str((read.get("database_specific") or {}).get("severity") or "").lower()
    return Vulnerability(
        package, ids, severity if severity in SEVERITIES else None, str(read.get("summary") or "")
    )


def merged(findings: Iterable[Vulnerability | None]) -> list[Vulnerability]:
    """Merge the findings of one package: those that share an id become one, with the highest severity."""
    unique: list[Vulnerability] = []
    for finding in findings:
        if finding is None:
            continue
        same = [other for other in unique if other.ids & finding.ids]
        unique = [other for other in unique if other not in same]
        for other in same:
            worst = max(other.severity, finding.severity, key=_rank)
            finding = replace(
                finding, ids=finding.ids | other.ids, severity=worst, about=other.about or finding.about
            )
        unique.append(finding)
    return unique


def _rank(severity: str | None) -> int:
    """Rank of a severity; an unknown one is below all others."""
    return -1 if severity is None else SEVERITIES.index(severity)


async def npm_findings(frontend: Path) -> list[Vulnerability]:
    """Raises NotReachable."""
    command = ("npm", "audit", "--json", "--package-lock-only", "--fetch-retries=0")
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=frontend, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise NotReachable("npm is not installed (make setup)") from error
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:  # npm may be a script that has started node
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    try:
        report = json.loads(output)
        vulnerabilities = report["vulnerabilities"] if "message" not in report else None
    except (ValueError, LookupError, TypeError):
        report, vulnerabilities = (
            {"message": (errors or output).decode(errors="replace").strip()[-300:]},
            None,
        )
    if vulnerabilities is None:
        raise NotReachable(str(report["message"]) or f"npm audit ends with {process.returncode} and no word")
    return npm_report(vulnerabilities)


def npm_report(vulnerabilities: dict[str, Any]) -> list[Vulnerability]:
    """What `npm audit --json` tells, each advisory once; what only depends on a vulnerable package is left out."""
    ids_of = {}
    for name, entry in vulnerabilities.items():
        for via in entry.get("via") or []:
            if isinstance(via, dict):
                id = ADVISORY.search(str(via.get("url")))
                ids = frozenset({id[0] if id else f"npm-{via.get('source')}"})
                severity = str(via.get("severity"))
                level = "low" if severity == "info" else severity if severity in SEVERITIES else None
                about = str(via.get("title") or "")
                ids_of[name, ids] = Vulnerability(
                    f"{name} {via.get('range') or ''}".strip(), ids, level, about
                )
    return list(ids_of.values())


async def within(seconds: float, work: Awaitable[list[Vulnerability]]) -> list[Vulnerability] | NotReachable:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        return NotReachable(f"no whole answer within {seconds:g} s")
    except NotReachable as error:
        return error


def print_findings(
    what: str, findings: list[Vulnerability] | NotReachable, accepted: list[Accepted], today: datetime.date
) -> bool:
    """Print what was found; whether it fails the audit."""
    if isinstance(findings, NotReachable):
        print(f"audit of {what}: NOT DONE, not reachable: {findings}")
        return False
    bad = []
    for finding in filter(lambda item: item.counts, findings):
        exceptions = [item for item in accepted if item.id in finding.ids]
        for item in exceptions:
            print(
                f"  accepted until {item.until}{' (over)' if item.until < today else ''}: {finding}: {item.reason}"
            )
        if not any(item.until >= today for item in exceptions):
            bad.append(finding)
    for finding in bad:
        print(f"  {finding}")
    low = sum(not item.counts for item in findings)
    print(f"audit of {what}: {len(bad)} to fix" + (f", {low} of low severity not shown" if low else ""))
    return bool(bad)


async def audit(arguments: argparse.Namespace) -> int:
    try:
        accepted = accepted_in(arguments.accepted)
    except (ValueError, OSError) as error:  # a TOMLDecodeError is a ValueError
        print(error, file=sys.stderr)
        return 2
    python, npm = await asyncio.gather(
        within(arguments.seconds, python_findings(arguments.lock, arguments.osv)),
        within(arguments.seconds, npm_findings(arguments.frontend)),
    )
    today = datetime.datetime.now(datetime.UTC).date()
    failed = [
        print_findings(f"{arguments.lock.name}", python, accepted, today),
        print_findings(f"{arguments.frontend.name}/package-lock.json", npm, accepted, today),
    ]
    if any(failed):
        print("Update them, or accept them for a while with a reason in scripts/audit.toml.")
    return int(any(failed))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements.lock")
    parser.add_argument(
        "--frontend", type=Path, default=ROOT / "frontend", help="folder of package-lock.json"
    )
    parser.add_argument("--accepted", type=Path, default=ROOT / "scripts" / "audit.toml")
    parser.add_argument("--osv", default=OSV, help="address of OSV's API")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all of it")
    return asyncio.run(audit(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())

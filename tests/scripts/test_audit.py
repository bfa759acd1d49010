"""`make audit` against servers that speak OSV's and npm's protocols: found, accepted for a while, not reachable."""

import datetime
import gzip
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.stub_server import Answer, StubServer

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "audit.py"
BULK = "/-/npm/v1/security/advisories/bulk"
GHSA, CVE = "GHSA-h5c8-rqwp-cp95", "CVE-2024-22195"
PYSEC = "PYSEC-2024-1"
NPM_GHSA = "GHSA-35jh-r3h4-6jhm"


@pytest.fixture
def stub() -> Iterator[StubServer]:
    """Both servers, without anything against the packages."""
    server = StubServer()
    server.on("POST", "/v1/querybatch", Answer(body={"results": [{}, {}]}))
    server.on("POST", BULK, Answer(body={}))
    server.on(
        "GET", "/lodash", Answer(body={"name": "lodash", "versions": {"4.17.20": {"version": "4.17.20"}}})
    )
    yield server
    server.close()


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A lock file of two Python packages and a frontend with one of npm's."""
    (tmp_path / "pins.txt").write_text("# a comment\njinja2==3.1.2\nidna==3.10 # another\n-e .\n")
    (tmp_path / "accepted.toml").write_text("")
    page = tmp_path / "page"
    page.mkdir()
    own = {"name": "page", "version": "1.0.0", "dependencies": {"lodash": "4.17.20"}}
    lodash = {"version": "4.17.20", "resolved": "https://registry.npmjs.org/lodash/-/lodash-4.17.20.tgz"}
    lock = own | {"lockfileVersion": 3, "packages": {"": own, "node_modules/lodash": lodash}}
    (page / "package.json").write_text(json.dumps(own))
    (page / "package-lock.json").write_text(json.dumps(lock))
    return tmp_path


def audit(
    places: Path, osv: str, registry: str | None = None, seconds: float = 20
) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(SCRIPT),
        "--lock",
        str(places / "pins.txt"),
        "--frontend",
        str(places / "page"),
    ]
    command += ["--accepted", str(places / "accepted.toml"), "--osv", osv, "--seconds", str(seconds)]
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(places),
        "npm_config_registry": registry or osv,
        "npm_config_update_notifier": "false",
    }
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


def advisory(stub: StubServer, id: str, **fields: Any) -> None:
    stub.on("GET", f"/v1/vulns/{id}", Answer(body={"id": id, "summary": "XSS in xmlattr"} | fields))


def vulnerable(stub: StubServer, severity: str | None = "MODERATE") -> None:
    """jinja2 has one vulnerability, which OSV has under two names; one of the two tells how bad it is."""
    results = [{"vulns": [{"id": GHSA, "modified": "2025-01-01T00:00:00Z"}, {"id": PYSEC}]}, {}]
    stub.on("POST", "/v1/querybatch", Answer(body={"results": results}))
    advisory(stub, GHSA, aliases=[CVE], database_specific={"severity": severity} if severity else {})
    advisory(stub, PYSEC, aliases=[CVE, GHSA])


def accept(places: Path, id: str, days: int) -> None:
    until = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days)
    (places / "accepted.toml").write_text(
        f'[[accepted]]\nid = "{id}"\nreason = "we escape it"\nuntil = {until}\n'
    )


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_no_advisory_for_any_pinned_version_passes(places: Path, stub: StubServer) -> None:
    done = audit(places, stub.url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "audit of pins.txt: 0 to fix",
        "audit of page/package-lock.json: 0 to fix",
    ]
    (batch,) = [request for request in stub.requests if request.path == "/v1/querybatch"]
    assert batch.json["queries"] == [
        {"package": {"name": "jinja2", "ecosystem": "PyPI"}, "version": "3.1.2"},
        {"package": {"name": "idna", "ecosystem": "PyPI"}, "version": "3.10"},
    ]
    (bulk,) = [request for request in stub.requests if request.path == BULK]
    body = gzip.decompress(bulk.body) if bulk.headers.get("content-encoding") == "gzip" else bulk.body
    assert json.loads(body) == {"lodash": ["4.17.20"]}


@pytest.mark.parametrize("severity", ["MODERATE", "CRITICAL", None])
def test_a_vulnerability_of_a_python_package_fails_once_with_its_names(
    places: Path, stub: StubServer, severity: str | None
) -> None:
    vulnerable(stub, severity)
    done = audit(places, stub.url)
    assert done.returncode == 1
    severity_text = severity.lower() if severity else "severity unknown"
    assert f"  jinja2 3.1.2: {CVE}, {GHSA}, {PYSEC} ({severity_text}) XSS in xmlattr" in done.stdout
    assert "audit of pins.txt: 1 to fix" in done.stdout
    assert "audit of page/package-lock.json: 0 to fix" in done.stdout


def test_one_of_low_severity_or_withdrawn_does_not_fail(places: Path, stub: StubServer) -> None:
    vulnerable(stub, "LOW")
    done = audit(places, stub.url)
    assert done.returncode == 0
    assert "audit of pins.txt: 0 to fix, 1 of low severity not shown" in done.stdout
    advisory(stub, GHSA, withdrawn="2025-02-01T00:00:00Z", database_specific={"severity": "HIGH"})
    advisory(stub, PYSEC, withdrawn="2025-02-01T00:00:00Z")
    assert "audit of pins.txt: 0 to fix\n" in audit(places, stub.url).stdout


def test_one_that_cannot_be_read_about_counts(places: Path, stub: StubServer) -> None:
    results = [{"vulns": [{"id": GHSA}], "next_page_token": "more"}, {}]
    stub.on(
        "POST",
        "/v1/querybatch",
        Answer(body={"results": results}),
        Answer(body={"results": [{"vulns": [{"id": PYSEC}]}]}),
    )
    done = audit(places, stub.url)
    assert done.returncode == 1
    assert f"jinja2 3.1.2: {GHSA} (severity unknown)" in done.stdout
    assert f"jinja2 3.1.2: {PYSEC} (severity unknown)" in done.stdout  # of the second page
    pages = [request.json["queries"] for request in stub.requests if request.path == "/v1/querybatch"]
    assert [query.get("page_token") for query in pages[1]] == ["more"]


@pytest.mark.parametrize(("severity", "status"), [("low", 0), ("moderate", 1), ("critical", 1)])
def test_npms_own_audit_tells_of_its_packages(
    places: Path, stub: StubServer, severity: str, status: int
) -> None:
    advisory = {
        "id": 1106913,
        "url": f"https://github.com/advisories/{NPM_GHSA}",
        "title": "Command Injection in lodash",
        "severity": severity,
        "vulnerable_versions": "<4.17.21",
        "cwe": ["CWE-77"],
        "cvss": {"score": 7.2, "vectorString": "CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H"},
    }
    stub.on("POST", BULK, Answer(body={"lodash": [advisory]}))
    done = audit(places, stub.url)
    assert done.returncode == status, done.stdout + done.stderr
    line = f"  lodash <4.17.21: {NPM_GHSA} ({severity}) Command Injection in lodash"
    assert (line in done.stdout) == bool(status)
    assert f"audit of page/package-lock.json: {status} to fix" in done.stdout


@pytest.mark.parametrize("id", [GHSA, CVE, PYSEC])
def test_what_is_accepted_passes_with_its_reason_until_its_day(
    places: Path, stub: StubServer, id: str
) -> None:
    vulnerable(stub)
    accept(places, id, days=0)
    done = audit(places, stub.url)
    assert done.returncode == 0, done.stdout
    assert "accepted until" in done.stdout
    assert "we escape it" in done.stdout
    assert "audit of pins.txt: 0 to fix" in done.stdout


def test_what_was_accepted_until_yesterday_or_is_another_one_fails(places: Path, stub: StubServer) -> None:
    vulnerable(stub)
    accept(places, GHSA, days=-1)
    done = audit(places, stub.url)
    assert done.returncode == 1
    assert "(over)" in done.stdout
    accept(places, NPM_GHSA, days=9)
    assert audit(places, stub.url).returncode == 1


@pytest.mark.parametrize(
    "entry",
    [f'id = "{GHSA}"\nuntil = 2027-01-31', f'id = "{GHSA}"\nreason = " "\nuntil = 2027-01-31',
     f'id = "{GHSA}"\nreason = "so"', f'id = "{GHSA}"\nreason = "so"\nuntil = "2027-01-31"', "id ="],
)  # fmt: skip
def test_an_entry_without_reason_or_day_is_an_error(places: Path, stub: StubServer, entry: str) -> None:
    (places / "accepted.toml").write_text(f"[[accepted]]\n{entry}\n")
    done = audit(places, stub.url)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_unreachable_servers_are_reported_and_pass(places: Path) -> None:
    done = audit(places, closed_port())
    assert done.returncode == 0, done.stderr
    python, npm = done.stdout.splitlines()
    assert python.startswith("audit of pins.txt: NOT DONE, not reachable: http://127.0.0.1")
    assert npm.startswith("audit of page/package-lock.json: NOT DONE, not reachable: ")
    assert "ECONNREFUSED" in npm


def test_a_mirror_without_audits_is_reported_and_hides_nothing_of_the_other(
    places: Path, stub: StubServer
) -> None:
    mirror = StubServer()  # 404 to everything
    try:
        vulnerable(stub)
        done = audit(places, stub.url, mirror.url)
        assert done.returncode == 1
        assert "NOT DONE, not reachable: 404" in done.stdout
        done = audit(places, mirror.url)
        assert done.returncode == 0
        assert f"NOT DONE, not reachable: {mirror.url}/v1/querybatch answers 404" in done.stdout
    finally:
        mirror.close()


def test_another_page_in_its_place_is_not_taken_for_good_news(places: Path, stub: StubServer) -> None:
    for body in (b"<html>Sign in</html>", {"results": [{}]}, {"results": "none"}, [1]):
        stub.on("POST", "/v1/querybatch", Answer(body=body))
        done = audit(places, stub.url)
        assert done.returncode == 0
        assert "does not answer as OSV does" in done.stdout


def test_servers_that_are_too_slow_are_left(places: Path, stub: StubServer) -> None:
    stub.on("POST", "/v1/querybatch", Answer(body={"results": [{}, {}]}, delay=30))
    stub.on("POST", BULK, Answer(body={}, delay=30))
    begin = time.monotonic()
    done = audit(places, stub.url, seconds=3)
    assert time.monotonic() - begin < 20
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("NOT DONE, not reachable: no whole answer within 3 s") == 2

"""`reinforge project|key|member|usage` as processes, and their resources of the SDK, against a real server."""

import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.client import Reinforge
from reinforge.errors import NotAllowed, NotAuthenticated, NotFound
from tests.backend.people import browser, made, token_of
from tests.backend.server import OWNER_KEY, Backend
from tests.support.preloaded import run_module


@pytest.fixture(scope="module")
def backend(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    with Backend(module_database_url, tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(scope="module")
def client(backend: Backend) -> Iterator[Reinforge]:
    with Reinforge(backend.url, OWNER_KEY) as connected:
        yield connected


def run(backend: Backend, *args: str, key: str = OWNER_KEY) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"REINFORGE_URL": backend.url, "REINFORGE_API_KEY": key, "NO_COLOR": "1"}
    return run_module("reinforge.cli.main", *args, env=environment | {"COLUMNS": "200"}, timeout=120)


def stdout_of(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def json_of(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(stdout_of(done))


def test_projects_are_made_renamed_exported_and_deleted(backend: Backend, tmp_path: Path) -> None:
    done = run(backend, "project", "create", "second")
    key = stdout_of(done)
    assert key.startswith("rf-")
    assert "shown only now" in done.stderr
    listed = json_of(run(backend, "project", "list", "--json"))
    [id] = [project["id"] for project in listed if project["name"] == "second"]
    assert {project["name"]: project["current"] for project in listed} == {"default": True, "second": False}
    stdout_of(run(backend, "project", "rename", id, "other"))
    names = [project["name"] for project in json_of(run(backend, "project", "list", "--json", key=key))]
    assert names == ["other"], "the new key is of the new project"
    path = tmp_path / "out.tar"
    assert stdout_of(run(backend, "project", "export", id, str(path), key=key)) == str(path)
    with tarfile.open(path) as tar:
        assert json.loads(tar.extractfile("project.json").read())["name"] == "other"  # type: ignore[union-attr]
    wrong = run(backend, "project", "delete", id, "--name", "second")
    assert (wrong.returncode, "not the project's name" in wrong.stderr) == (2, True)
    assert "other is deleted" in run(backend, "project", "delete", id, "--name", "other").stderr
    assert run(backend, "project", "list", key=key).returncode == 4, "its key is gone with it"


def test_keys_are_made_narrow_listed_and_revoked(backend: Backend) -> None:
    done = run(backend, "key", "create", "nightly", "--role", "viewer", "--scope", "read", "--days", "3")
    secret = stdout_of(done)
    [key] = [
        key_view
        for key_view in json_of(run(backend, "key", "list", "--json"))
        if key_view["name"] == "nightly"
    ]
    assert (key["role"], key["scopes"], key["expires_at"] is not None) == ("viewer", ["read"], True)
    assert secret.startswith(key["prefix"])
    assert secret not in stdout_of(run(backend, "key", "list"))
    refused = run(backend, "key", "create", "more", key=secret)
    assert (refused.returncode, "scope admin" in refused.stderr) == (4, True)
    assert "is revoked" in run(backend, "key", "revoke", key["id"]).stderr
    assert run(backend, "job", "list", key=secret).returncode == 4
    assert run(backend, "key", "revoke", "key_none").returncode == 5


def test_an_administrators_key_needs_an_option(backend: Backend) -> None:
    secrets = {
        name: stdout_of(run(backend, "key", "create", name, "--role", "owner", *more))
        for name, more in (("plain", ()), ("runs it", ("--administrator",)))
    }
    listed = {key_view["name"]: key_view for key_view in json_of(run(backend, "key", "list", "--json"))}
    assert [listed[name]["administrator"] for name in secrets] == [False, True]
    assert "administrator" in stdout_of(run(backend, "key", "list"))
    assert run(backend, "project", "create", "no", key=secrets["plain"]).returncode == 4
    assert stdout_of(run(backend, "project", "create", "yes", key=secrets["runs it"]))


def test_members_are_invited_get_a_new_password_and_are_removed(backend: Backend) -> None:
    url = stdout_of(run(backend, "member", "invite", "--role", "viewer", "--note", "for Ada"))
    password = {"email": "ada@example.org", "password": "a long password"}
    with browser(backend) as ada:
        made(ada.post("/invitations/accept", json={"token": token_of(url), "name": "Ada"} | password), 200)
        [member] = [
            member_view
            for member_view in json_of(run(backend, "member", "list", "--json"))
            if member_view["name"] == "Ada"
        ]
        assert (member["role"], member["email"]) == ("viewer", "ada@example.org")
        assert "ada@example.org" in stdout_of(run(backend, "member", "list"))
        assert "Ada is editor" in run(backend, "member", "role", "ada@example.org", "editor").stderr
        assert ada.get("/me").json()["role"] == "editor"
        reset = stdout_of(run(backend, "member", "reset-password", "Ada"))
        made(
            ada.post("/password-reset", json={"token": token_of(reset), "password": "another password"}), 200
        )
        nobody = run(backend, "member", "reset-password", "Nobody")
        assert (nobody.returncode, "There is no member Nobody" in nobody.stderr) == (5, True)
        role = {"if-match": "*"}, {"role": "owner"}
        made(backend.api.patch(f"/members/{member['id']}", headers=role[0], json=role[1]), 200)
        transferred, ending = (made(ada.post("/keys", json={"name": name})) for name in ("kept", "ending"))
        tried = run(backend, "member", "remove", "Ada", "--dry-run").stderr
        assert f"reinforge key transfer {transferred['id']}" in tried
        assert "its secret stays the same" in run(backend, "key", "transfer", transferred["id"]).stderr
        removed = run(backend, "member", "remove", member["id"]).stderr
        assert "is removed" in removed and f"ending ({ending['id']}) no longer works" in removed
        assert transferred["id"] not in removed
        assert run(backend, "whoami", key=transferred["key"]).returncode == 0
        assert ada.get("/me").status_code == 401


def test_usage_and_budgets_are_printed(backend: Backend, client: Reinforge) -> None:
    backend.add_dataset()
    client.usage.set_budget("storage_bytes", 5e9, "total")
    output = stdout_of(run(backend, "usage", "--days", "2"))
    assert "5.0 GB" in output
    assert "storage_bytes" not in output
    usage = json_of(run(backend, "usage", "--json"))
    assert usage["budgets"][0]["kind"] == "storage_bytes"
    assert len(usage["days"]) == 30
    client.usage.remove_budget("storage_bytes", "total")
    assert client.usage.get().budgets == []


def test_the_sdks_resources_of_people(backend: Backend, client: Reinforge) -> None:
    project = client.projects.create("by the sdk", with_key=True)
    assert project.key is not None
    assert client.projects.rename(project.id, "renamed").name == client.projects.get(project.id).name
    key = client.keys.create("sdk", "viewer", scopes=["read"], expires_in_days=1)
    assert key.id in [listed.id for listed in client.keys.list()]
    with Reinforge(backend.url, key.key) as narrow, pytest.raises(NotAllowed):
        narrow.keys.create("more")
    client.keys.revoke(key.id)
    with Reinforge(backend.url, key.key) as gone, pytest.raises(NotAuthenticated):
        gone.me()
    person = made(backend.api.post("/members", json={"name": "Grace"}))
    assert client.members.change(person["id"], "viewer").role == "viewer"
    assert client.members.get(person["id"]).name == "Grace"
    assert "token=" in client.members.sign_in_link(person["id"]).url
    client.members.remove(person["id"])
    with pytest.raises(NotFound):
        client.members.get(person["id"])
    client.projects.delete(project.id, "renamed")
    assert project.id not in [listed.id for listed in client.projects.list()]


def test_budgets_are_set_listed_and_removed(backend: Backend) -> None:
    assert stdout_of(run(backend, "budget", "list")) == ""
    done = run(backend, "budget", "set", "sampled_tokens", "5000")
    assert (done.returncode, done.stderr.strip()) == (0, "sampled tokens: 5,000 a month")
    [budget] = json_of(run(backend, "budget", "list", "--json"))
    assert (budget["kind"], budget["period"], budget["amount"]) == ("sampled_tokens", "month", 5000)
    stdout_of(run(backend, "budget", "remove", "sampled_tokens"))
    assert json_of(run(backend, "budget", "list", "--json")) == []
    refused = run(backend, "budget", "set", "tokens", "5000")
    assert refused.returncode == 2
    assert "sampled_tokens" in refused.stderr, "it names the kinds there are"


def test_the_audit_log_says_who_changed_what(backend: Backend) -> None:
    stdout_of(run(backend, "key", "create", "for the audit"))
    entries = json_of(run(backend, "audit", "createApiKey", "--limit", "1", "--json"))
    assert [entry["action"] for entry in entries] == ["createApiKey"]
    assert "createApiKey" in stdout_of(run(backend, "audit", "--limit", "3"))


def test_an_invitation_may_carry_a_name(backend: Backend, client: Reinforge) -> None:
    assert "/" in stdout_of(run(backend, "member", "invite", "ann"))
    assert "ann" in [invitation.note for invitation in client.invitations.list()]

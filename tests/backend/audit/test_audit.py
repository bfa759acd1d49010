"""Audit entries: every change has one with actor, action and target; refusals, reads and secrets have none."""

from typing import Any

from tests.backend.people import made, refusal, sign_in, starter
from tests.backend.server import OWNER_KEY, REWARD, Backend


def entries(backend: Backend, **query: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = made(backend.api.get("/audit", params={"limit": 100} | query), 200)["data"]
    return listed


def recorded(backend: Backend) -> list[tuple[str, str, str | None]]:
    return [(entry["actor_name"], entry["action"], entry["target"]) for entry in entries(backend)]


def test_who_did_what_to_which_thing(backend: Backend) -> None:
    judge = {"name": "audited", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    audited = made(backend.api.post("/judges", json=judge))
    assert backend.api.get(f"/projects/{backend.api.get('/me').json()['project']}/export").status_code == 200
    member = made(backend.api.post("/members", json={"name": "Ada"}))
    with sign_in(backend, member["url"]) as ada:
        sha = made(ada.post("/sign-in-links"), 200)
        assert sha["url"]
    backend.api.patch(f"/members/{member['id']}", headers={"if-match": "*"}, json={"role": "viewer"})
    backend.api.delete(f"/members/{member['id']}")
    recorded_entries = recorded(backend)
    assert recorded_entries[:2] == [
        ("bootstrap", "removeMember", member["id"]),
        ("bootstrap", "updateMember", member["id"]),
    ]
    assert ("Ada", "signIn", None) in recorded_entries
    assert ("bootstrap", "createMember", member["id"]) in recorded_entries
    assert ("bootstrap", "createJudge", audited["id"]) in recorded_entries
    assert "exportProject" in [action for _, action, _ in recorded_entries]
    [changed] = [entry for entry in entries(backend) if entry["action"] == "updateMember"]
    assert changed["details"]["role"] == "viewer"


def test_what_was_refused_or_read_leaves_none(backend: Backend) -> None:
    before = recorded(backend)
    backend.api.get("/jobs")
    backend.api.post("/rewards", json={"name": ""})
    with backend.add_key("viewer") as viewer:
        viewer.post("/rewards", json={"name": "x", "source": REWARD})
    backend.bare.post("/api/v1/sign-in", json={"token": "wrong token"})
    assert recorded(backend) == before


def test_no_secret_is_written_down(backend: Backend) -> None:
    key = made(backend.api.post("/keys", json={"name": "secretive"}))
    judge = {"name": "j", "base_url": "http://127.0.0.1:9/v1", "model": "m", "api_key": "sk-of-the-judge"}
    made(backend.api.post("/judges", json=judge))
    invited = made(backend.api.post("/invitations", json={}))
    with starter(backend) as owner:
        owner.patch(
            "/me",
            headers={"if-match": "*"},
            json={"email": "owner@example.org", "password": "not in the log please"},
        )
    stored = str(backend.sql("SELECT * FROM audit_entry"))
    assert key["id"] in stored
    secrets = (
        key["key"],
        "sk-of-the-judge",
        invited["url"].partition("=")[2],
        "not in the log please",
        OWNER_KEY,
    )
    for secret in secrets:
        assert secret not in stored


def test_it_is_for_owners_and_paged(backend: Backend) -> None:
    for number in range(3):
        made(backend.api.post("/invitations", json={"note": f"{number}"}))
    first = backend.api.get("/audit", params={"limit": 2}).json()
    second = backend.api.get("/audit", params={"limit": 2, "after": first["next_cursor"]}).json()
    ids = [entry["id"] for page in (first, second) for entry in page["data"]]
    assert ids == [entry["id"] for entry in entries(backend)[:4]]
    with backend.add_key("editor") as editor:
        assert refusal(editor.get("/audit")) == (403, "not_owner")


def test_a_deleted_project_is_remembered_by_the_first_one(backend: Backend) -> None:
    project = made(backend.api.post("/projects", json={"name": "short-lived"}))
    path = f"/projects/{project['id']}"
    assert backend.api.request("DELETE", path, json={"name": "short-lived"}).status_code == 204
    assert ("bootstrap", "deleteProject", project["id"]) in recorded(backend)


def test_words_find_entries_by_who_what_and_which(backend: Backend) -> None:
    name = f"searched_{backend.api.get('/me').json()['project']}"
    judge = made(
        backend.api.post("/judges", json={"name": name, "base_url": "http://127.0.0.1:9/v1", "model": "m"})
    )
    backend.api.delete(f"/judges/{judge['id']}")
    both = ["deleteJudge", "createJudge"]
    assert [entry["action"] for entry in entries(backend, q=judge["id"])] == both
    assert [entry["action"] for entry in entries(backend, q=f"bootstrap judge {judge['id']}")] == both
    assert [entry["action"] for entry in entries(backend, q=f"CREATE judge {judge['id']}")] == both[1:]
    assert [entry["action"] for entry in entries(backend, q=name)] == both[1:], "the answer names it"
    assert entries(backend, q=f"{judge['id']} nobody") == []
    assert entries(backend, q="100%_") == [], "no pattern, only text"

"""Judges of a project: their keys go in, and come out towards a worker alone."""

from pathlib import Path
from typing import Any

from tests.backend.server import Backend, refused

KEY = "sk-a-secret-nobody-else-sees"
JUDGE: dict[str, Any] = {
    "name": "critic",
    "base_url": "https://judges.example/v1/",
    "model": "big-1",
    "api_key": KEY,
    "input_price": 2.5,
    "output_price": 10,
}


def made(backend: Backend, **changes: Any) -> dict[str, Any]:
    answer = backend.api.post("/judges", json=JUDGE | changes)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_a_key_is_stored_encrypted_and_never_returned(backend: Backend) -> None:
    judge = made(backend, name="kept")
    assert (judge["has_key"], judge["base_url"], judge["input_price"]) == (
        True,
        "https://judges.example/v1",
        2.5,
    )
    everything = [
        judge,
        backend.api.get("/judges").json(),
        backend.api.get("/judges/kept").json(),
        backend.sql("SELECT * FROM judge"),
    ]
    assert KEY not in str(everything)
    assert [row["name"] for row in backend.api.get("/judges").json()["data"]] == ["kept"]
    assert backend.api.delete(f"/judges/{judge['id']}").status_code == 204
    assert backend.api.get("/judges/kept").status_code == 404


def test_a_new_address_needs_the_key_again(backend: Backend) -> None:
    made(backend, name="moved")
    refused = backend.api.patch(
        "/judges/moved", headers={"if-match": "*"}, json={"base_url": "https://elsewhere.example/v1"}
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "key_needed")
    changed = backend.api.patch(
        "/judges/moved",
        headers={"if-match": "*"},
        json={"base_url": "https://elsewhere.example", "api_key": None},
    )
    assert (changed.status_code, changed.json()["has_key"]) == (200, False)
    other = backend.api.patch("/judges/moved", headers={"if-match": "*"}, json={"input_price": 3})
    assert (other.json()["input_price"], other.json()["model"]) == (3, "big-1")


def test_what_is_no_judge_is_refused_with_the_field(backend: Backend) -> None:
    made(backend, name="taken")
    assert (
        backend.api.post("/judges", json=JUDGE | {"name": "taken"}).json()["error"]["code"] == "judge_exists"
    )
    for change, param in (
        ({"base_url": "nowhere"}, "base_url"),
        ({"base_url": "https://user:pass@x/"}, "base_url"),
        ({"name": "two words"}, "name"),
        ({"input_price": -1}, "input_price"),
        ({"structured": "xml"}, "structured"),
    ):
        answer = backend.api.post("/judges", json=JUDGE | {"name": "fresh"} | change)
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)


def test_only_owners_manage_judges_and_see_the_signing_secret(backend: Backend) -> None:
    made(backend, name="seen")
    with backend.add_key("editor") as client:
        assert "seen" in str(client.get("/judges").json())
        assert client.post("/judges", json=JUDGE | {"name": "mine"}).status_code == 403
        assert client.patch("/judges/seen", headers={"if-match": "*"}, json={"model": "x"}).status_code == 403
        assert client.delete("/judges/seen").status_code == 403
        assert client.get("/signing-secret").status_code == 403
    secret = backend.api.get("/signing-secret").json()["secret"]
    assert secret.startswith("whsec_")
    assert backend.api.get("/signing-secret").json()["secret"] == secret


def test_an_address_inside_the_network_is_refused_until_it_is_allowed(
    database_url: str, tmp_path: Path
) -> None:
    inside = (
        "http://127.0.0.1:8000/v1",
        "http://localhost/v1",
        "http://169.254.169.254",
        "http://[::ffff:10.0.0.1]/",
    )
    with Backend(database_url, tmp_path, allow_hosts="") as strict:
        for url in inside:
            error = refused(
                strict.api.post("/judges", json=JUDGE | {"base_url": url}), "base_url", "url_not_allowed"
            )
            assert "REINFORGE_ALLOW_HOSTS" in error["message"]
            assert "workers" in error["hint"]
        assert strict.api.get("/judges").json()["data"] == []
        made(strict)
        moved = {"base_url": inside[0], "api_key": None}
        answer = strict.api.patch("/judges/critic", headers={"if-match": "*"}, json=moved)
        refused(answer, "base_url", "url_not_allowed")
        assert strict.api.get("/judges/critic").json()["base_url"] == "https://judges.example/v1"
        with strict.add_key("editor") as client:  # who may not add judges learns nothing about the network
            assert client.post("/judges", json=JUDGE | {"base_url": inside[0]}).status_code == 403
    with Backend(database_url, tmp_path, allow_hosts="127.0.0.0/8") as allowing:
        answer = allowing.api.patch("/judges/critic", headers={"if-match": "*"}, json=moved)
        assert answer.json()["base_url"] == inside[0]

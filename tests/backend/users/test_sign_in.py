"""Passwords, one-time addresses, sessions: who gets in, and who stays in."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from backend.__main__ import main
from backend.settings import Settings
from tests.backend.people import browser, made, refusal, sign_in, starter, token_of
from tests.backend.server import Backend

PASSWORD = "correct horse battery"


def person(backend: Backend, name: str, role: str = "editor") -> dict[str, Any]:
    return made(backend.api.post("/members", json={"name": name, "role": role}))


def with_password(backend: Backend, name: str, password: str = PASSWORD) -> str:
    """A member's e-mail address, after they have set a password."""
    email = f"{name.lower()}@example.org"
    with sign_in(backend, person(backend, name)["url"]) as client:
        me = made(
            client.patch(
                "/me", headers={"if-match": "*"}, json={"email": email.upper(), "password": password}
            ),
            200,
        )
        assert (me["email"], me["has_password"]) == (email, True)
    return email


def test_the_address_of_start_up_makes_one_user_who_runs_the_platform(backend: Backend) -> None:
    with starter(backend) as first:
        me = first.get("/me").json()
        assert (me["role"], me["administrator"], me["project_name"]) == ("owner", True, "default")
        assert me["has_password"] is False, "no password is asked for"
    with starter(backend) as again:
        assert again.get("/me").json()["user"] == me["user"]


def test_a_password_signs_in_whatever_the_case_of_the_address(backend: Backend) -> None:
    email = with_password(backend, "Pauline")
    [(stored,)] = backend.sql("SELECT password FROM user_account WHERE email = %s", email)
    assert stored.startswith("$argon2id$")
    with browser(backend) as client:
        me = made(client.post("/sign-in", json={"email": f" {email.upper()} ", "password": PASSWORD}), 200)
        assert (me["name"], client.get("/me").status_code) == ("Pauline", 200)


def test_passwords_are_compared_in_another_process(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """In threads they would hold up everybody's requests."""
    email = with_password(backend, "Ottilie")
    monkeypatch.setattr("backend.users.passwords._HASHER", None)
    monkeypatch.setattr("backend.users.passwords.is_outdated", lambda stored: False)
    with browser(backend) as client:
        made(client.post("/sign-in", json={"email": email, "password": PASSWORD}), 200)


def test_a_wrong_password_and_an_unknown_address_are_answered_alike(backend: Backend) -> None:
    email = with_password(backend, "Quentin")
    with browser(backend) as client:
        wrong = client.post("/sign-in", json={"email": email, "password": "not it at all"})
        nobody = client.post("/sign-in", json={"email": "nobody@example.org", "password": "not it at all"})
    assert refusal(wrong) == refusal(nobody) == (401, "wrong_password")
    assert wrong.json()["error"]["message"] == nobody.json()["error"]["message"]


def test_guessing_is_held_off_even_with_the_right_password(backend: Backend) -> None:
    email = with_password(backend, "Rosa")
    with browser(backend) as client:
        for number in range(10):
            answer = client.post("/sign-in", json={"email": email, "password": f"guess {number}"})
            assert refusal(answer) == (401, "wrong_password")
        held = client.post("/sign-in", json={"email": email, "password": PASSWORD})
        assert refusal(held) == (429, "too_many_attempts")
        assert int(held.headers["retry-after"]) > 0
        backend.sql("UPDATE sign_in_failure SET at = at - interval '20 minutes' WHERE email = %s", email)
        made(client.post("/sign-in", json={"email": email, "password": PASSWORD}), 200)
    assert backend.sql("SELECT 1 FROM sign_in_failure WHERE email = %s", email) == []


def test_invented_addresses_give_no_more_guesses(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that counts as a proxy, or has many addresses; an account's guesses have a limit over them all."""
    monkeypatch.setattr("backend.users.attempts.MOST_ANYWHERE", 12)
    email = with_password(backend, "Roswitha")
    body = {"email": email, "password": "guess"}
    with browser(backend) as client:
        statuses = [
            client.post("/sign-in", json=body, headers={"x-forwarded-for": f"192.0.2.{number}"}).status_code
            for number in range(14)
        ]
    assert statuses == [401] * 12 + [429] * 2
    addresses = backend.sql("SELECT DISTINCT ip FROM sign_in_failure WHERE email = %s", email)
    assert len(addresses) == 12, "each guess came from another one"


def test_a_stranger_who_guesses_locks_nobody_out_of_what_they_have(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit holds off the right password, too; sessions and an owner's one-time address still work."""
    monkeypatch.setattr("backend.users.attempts.MOST_HERE", 2)
    email = with_password(backend, "Rolf")
    [(id,)] = backend.sql(
        "SELECT member.id FROM member JOIN user_account u ON u.id = user_id WHERE email = %s", email
    )
    with browser(backend) as inside, browser(backend) as client:
        made(inside.post("/sign-in", json={"email": email, "password": PASSWORD}), 200)
        for _ in range(2):
            client.post("/sign-in", json={"email": email, "password": "guess"})
        held = client.post("/sign-in", json={"email": email, "password": PASSWORD})
        assert refusal(held) == (429, "too_many_attempts")
        assert inside.get("/me").status_code == 200
        url = made(backend.api.post(f"/members/{id}/sign-in-link"), 200)["url"]
        me = made(client.post("/sign-in", json={"token": token_of(url)}), 200)
        assert me["email"] == email


def test_guesses_side_by_side_count_each_other(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many come at once, no more than ten are compared."""
    compared: list[str] = []

    async def compare(work: object, stored: str, password: str) -> bool:
        compared.append(password)
        return False

    monkeypatch.setattr("backend.users.passwords._in_child", compare)
    monkeypatch.setattr("backend.users.passwords.MOST_WAITING_HERE", 64)

    def guess(number: int) -> int:
        body = {"email": "sidney@example.org", "password": f"guess {number}"}
        return client.post("/sign-in", json=body).status_code

    with browser(backend) as client, ThreadPoolExecutor(30) as pool:
        client.timeout = 120
        answers = sorted(pool.map(guess, range(30)))
    assert answers.count(401) == len(compared) <= 10
    assert set(answers) <= {401, 429}
    backend.sql("DELETE FROM sign_in_failure")


def test_the_current_password_is_not_guessed_either(backend: Backend) -> None:
    email = with_password(backend, "Stella")
    with browser(backend) as stolen:
        made(stolen.post("/sign-in", json={"email": email, "password": PASSWORD}), 200)
        for number in range(11):
            body = {"password": "another long password", "current_password": f"a wrong guess {number}"}
            answer = stolen.patch("/me", headers={"if-match": "*"}, json=body)
        assert refusal(answer) == (429, "too_many_attempts")
    backend.sql("DELETE FROM sign_in_failure")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"email": "sam@example.org", "password": "short"}, "password"),
        ({"email": "sam@example.org", "password": "sam@example.org"}, "password"),
        ({"email": "no address", "password": PASSWORD}, "email"),
        ({"password": PASSWORD}, "email"),
    ],
    ids=["short", "the-address-itself", "no-address", "without-address"],
)
def test_passwords_that_are_refused_change_nothing(
    backend: Backend, body: dict[str, str], param: str
) -> None:
    with sign_in(backend, person(backend, f"Sam {param} {len(body)} {len(str(body))}")["url"]) as client:
        answer = client.patch("/me", headers={"if-match": "*"}, json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)
        assert client.get("/me").json()["email"] is None


def test_changing_a_password_needs_the_old_one_and_ends_other_sessions(backend: Backend) -> None:
    email = with_password(backend, "Tilda")
    with browser(backend) as here, browser(backend) as there:
        for client in (here, there):
            made(client.post("/sign-in", json={"email": email, "password": PASSWORD}), 200)
        new = "another long password"
        assert refusal(here.patch("/me", headers={"if-match": "*"}, json={"password": new})) == (
            403,
            "wrong_password",
        )
        taken = here.patch(
            "/me", headers={"if-match": "*"}, json={"email": "x@y", "current_password": "wrong password"}
        )
        assert refusal(taken) == (403, "wrong_password")
        made(
            here.patch(
                "/me", headers={"if-match": "*"}, json={"password": new, "current_password": PASSWORD}
            ),
            200,
        )
        assert here.get("/me").status_code == 200
        assert there.get("/me").status_code == 401
        assert refusal(there.post("/sign-in", json={"email": email, "password": PASSWORD}))[0] == 401


def test_an_owner_gives_an_address_to_set_a_new_password(backend: Backend) -> None:
    email = with_password(backend, "Ulla")
    [(id,)] = backend.sql(
        "SELECT member.id FROM member JOIN user_account u ON u.id = user_id WHERE email = %s", email
    )
    url = made(backend.api.post(f"/members/{id}/password-reset"), 200)["url"]
    assert "/reset-password?token=" in url
    token = token_of(url)
    with browser(backend) as old, browser(backend) as new:
        made(old.post("/sign-in", json={"email": email, "password": PASSWORD}), 200)
        assert refusal(new.post("/sign-in", json={"token": token}))[0] == 401, "it signs nobody in"
        me = made(new.post("/password-reset", json={"token": token, "password": "brand new password"}), 200)
        assert me["email"] == email
        assert old.get("/me").status_code == 401
        again = new.post("/password-reset", json={"token": token, "password": "brand new password"})
        assert refusal(again) == (401, "invalid_sign_in_token")
        made(old.post("/sign-in", json={"email": email, "password": "brand new password"}), 200)


def test_an_address_belongs_to_one_user_only(backend: Backend) -> None:
    email = with_password(backend, "Vera")
    with sign_in(backend, person(backend, "Verena")["url"]) as client:
        assert refusal(client.patch("/me", headers={"if-match": "*"}, json={"email": email})) == (
            409,
            "email_taken",
        )


def test_nobody_finds_out_many_addresses_by_asking_for_them(backend: Backend) -> None:
    email = with_password(backend, "Wera")
    with sign_in(backend, person(backend, "Wenzel")["url"]) as client:
        answers = [
            refusal(client.patch("/me", headers={"if-match": "*"}, json={"email": email})) for _ in range(11)
        ]
        assert answers == [(409, "email_taken")] * 10 + [(429, "too_many_attempts")]
        free = client.patch("/me", headers={"if-match": "*"}, json={"email": "free@example.org"})
        assert refusal(free) == (429, "too_many_attempts"), "a free one is answered alike"
    url = made(backend.api.post("/invitations", json={"role": "viewer"}))["url"]
    body = {"token": token_of(url), "name": "Winnie", "email": email, "password": PASSWORD}
    with browser(backend) as stranger:
        refusals = [refusal(stranger.post("/invitations/accept", json=body)) for _ in range(11)]
        assert refusals == [(409, "email_taken")] * 10 + [(429, "too_many_attempts")]


@pytest.fixture
def signed_in(backend: Backend) -> Iterator[httpx.Client]:
    with sign_in(backend, backend.api.post("/sign-in-links").json()["url"]) as client:
        yield client


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(backend: Backend) -> None:
    url = backend.api.post("/sign-in-links").json()["url"]
    with browser(backend) as client:
        cookie = client.post("/sign-in", json={"token": token_of(url)}).headers["set-cookie"].lower()
    assert re.search(r"\bhttponly\b", cookie)
    assert "samesite=lax" in cookie
    assert "path=/" in cookie
    assert "domain=" not in cookie, "only this host gets it"


def test_behind_https_the_cookie_never_travels_in_the_clear(database_url: str, tmp_path: Any) -> None:
    with Backend(database_url, tmp_path) as running:
        answer = running.bare.post(
            "/api/v1/sign-in", json={"token": "rf-test-owner-key"}, headers={"x-forwarded-proto": "https"}
        )
        assert "secure" in answer.headers["set-cookie"].lower()
        name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
        assert name == "__Host-reinforge_session"

        def status(**headers: str) -> int:
            return running.bare.get("/api/v1/me", headers=headers).status_code

        running.bare.cookies.clear()
        assert status(cookie=f"{name}={value}", **{"x-forwarded-proto": "https"}) == 200
        planted = f"reinforge_session={value}"
        assert status(cookie=planted, **{"x-forwarded-proto": "https"}) == 401, (
            "another host can set that name"
        )
        out = running.bare.post(
            "/api/v1/sign-out",
            headers={
                "x-forwarded-proto": "https",
                "cookie": f"{name}={value}",
                "sec-fetch-site": "same-origin",
            },
        )
        assert out.headers["set-cookie"].startswith(f'{name}=""')
        assert "secure" in out.headers["set-cookie"].lower()
        assert status(cookie=f"{name}={value}", **{"x-forwarded-proto": "https"}) == 401


@pytest.mark.parametrize(("proxies", "secure"), [("127.0.0.0/8", True), ("10.1.2.3,10.2.0.0/16", False)])
def test_only_the_proxies_of_the_setting_say_who_sent_it_and_that_it_was_https(
    database_url: str, tmp_path: Any, proxies: str, secure: bool
) -> None:
    with Backend(database_url, tmp_path, trusted_proxies=proxies) as running:
        answer = running.bare.post(
            "/api/v1/sign-in", json={"token": "rf-test-owner-key"}, headers={"x-forwarded-proto": "https"}
        )
        assert ("secure" in answer.headers["set-cookie"].lower()) == secure
        guess = {"email": "rahel@example.org", "password": "guess"}
        running.bare.post("/api/v1/sign-in", json=guess, headers={"x-forwarded-for": "192.0.2.1"}, timeout=60)
        [(address,)] = running.sql("SELECT ip FROM sign_in_failure WHERE email = 'rahel@example.org'")
        assert address == ("192.0.2.1" if secure else "127.0.0.1")


def test_the_setting_of_trusted_proxies_reaches_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    settings: dict[str, Any] = {}

    def run(server: Any, sockets: Any) -> None:
        settings["forwarded_allow_ips"] = server.config.forwarded_allow_ips
        server.started = True

    monkeypatch.setattr("uvicorn.Server.run", run)
    monkeypatch.setattr("backend.http.server.raise_descriptor_limit", lambda: None)
    monkeypatch.setattr("backend.http.memory.prepare_server", lambda: None)
    monkeypatch.setenv("REINFORGE_HOME", str(tmp_path))
    monkeypatch.setenv("REINFORGE_TRUSTED_PROXIES", "172.16.0.0/12")
    assert main(["api"]) == 0
    assert settings["forwarded_allow_ips"] == "172.16.0.0/12"
    with pytest.raises(ValidationError, match="REINFORGE_TRUSTED_PROXIES"):
        Settings(REINFORGE_TRUSTED_PROXIES="caddy")


def test_a_cookie_from_before_the_sign_in_is_worth_nothing_after_it(backend: Backend) -> None:
    """Session fixation: who planted a session in somebody's browser must not share the one they open."""
    ours = person(backend, "Wanda")
    theirs = person(backend, "Xaver")
    with sign_in(backend, theirs["url"]) as attacker:
        planted = attacker.cookies["reinforge_session"]
        with browser(backend) as victim:
            victim.cookies.set("reinforge_session", planted, domain="127.0.0.1")
            made(victim.post("/sign-in", json={"token": token_of(ours["url"])}), 200)
            assert victim.cookies["reinforge_session"] != planted
        assert attacker.get("/me").status_code == 401


def test_the_sessions_of_a_user_are_listed_and_ended(backend: Backend) -> None:
    email = with_password(backend, "Yasmin")
    with browser(backend) as here, browser(backend) as there:
        for client in (here, there):
            made(client.post("/sign-in", json={"email": email, "password": PASSWORD}), 200)
        listed = here.get("/me/sessions").json()["data"]
        assert [session["agent"] for session in listed] == ["test browser"] * len(listed)
        [current] = [session for session in listed if session["current"]]
        others = [session["id"] for session in listed if not session["current"]]
        assert here.cookies["reinforge_session"] not in str(listed)
        for id in others:
            assert here.delete(f"/me/sessions/{id}").status_code == 204
        assert there.get("/me").status_code == 401
        assert [session["id"] for session in here.get("/me/sessions").json()["data"]] == [current["id"]]
        with sign_in(backend, person(backend, "Zoe")["url"]) as other:
            assert other.delete(f"/me/sessions/{current['id']}").status_code == 404


def test_an_expired_session_is_over(backend: Backend, signed_in: httpx.Client) -> None:
    assert signed_in.get("/me").status_code == 200
    backend.sql("UPDATE browser_session SET expires_at = now() - interval '1 second'")
    assert signed_in.get("/me").status_code == 401


@pytest.mark.parametrize("of_key", [False, True])
def test_a_session_that_nobody_uses_ends(backend: Backend, of_key: bool) -> None:
    def used(before: str) -> None:
        """When it was last used: so much time before now."""
        backend.sql(f"UPDATE browser_session SET last_seen_at = now() - interval '{before}'")

    with browser(backend) as client:
        token = "rf-test-owner-key" if of_key else token_of(backend.api.post("/sign-in-links").json()["url"])
        made(client.post("/sign-in", json={"token": token}), 200)
        for _ in range(2):
            used("6 days 23 hours")
            assert client.get("/me").status_code == 200
        [(recent,)] = backend.sql("SELECT max(last_seen_at) > now() - interval '1 hour' FROM browser_session")
        assert recent, "each use counts"
        used("7 days 1 hour")
        assert client.get("/me").status_code == 401


def test_a_link_of_a_key_dies_with_the_key(backend: Backend) -> None:
    key = made(backend.api.post("/keys", json={"name": "short-lived"}))
    with backend.client(key["key"], "/api/v1") as client:
        unused, used = (client.post("/sign-in-links").json()["url"] for _ in range(2))
    with sign_in(backend, used) as page:
        assert page.get("/me").json()["name"] == "short-lived"
        backend.api.delete(f"/keys/{key['id']}")
        assert page.get("/me").status_code == 401
    assert backend.bare.post("/api/v1/sign-in", json={"token": token_of(unused)}).status_code == 401


@pytest.mark.parametrize("path", ["/sign-in", "/password-reset", "/invitations/accept"])
def test_another_site_cannot_sign_a_browser_in(backend: Backend, path: str) -> None:
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        body = {"token": "x" * 20} | ({"password": PASSWORD} if path == "/password-reset" else {})
        answer = backend.bare.post("/api/v1" + path, json=body, headers=headers)
        assert refusal(answer) == (403, "cross_origin")


@pytest.mark.parametrize(
    ("method", "path"),
    [("PATCH", "/me"), ("DELETE", "/me/sessions/sess_x"), ("POST", "/sign-out"), ("POST", "/keys")],
    ids=["account", "session", "sign-out", "key"],
)
def test_a_cookie_alone_changes_nothing(backend: Backend, method: str, path: str) -> None:
    """Without the word of the browser that our own page asked, and from other sites."""
    url = backend.api.post("/sign-in-links").json()["url"]
    with httpx.Client(base_url=f"{backend.url}/api/v1") as page:
        page.post("/sign-in", json={"token": token_of(url)})
        for headers in ({}, {"origin": "null"}, {"sec-fetch-site": "same-site"}):
            body = {"name": "x"} if method != "DELETE" else None
            assert refusal(page.request(method, path, json=body, headers=headers)) == (403, "cross_origin")
        assert page.get("/me").status_code == 200

"""Slots for concurrent requests of one sender, and requests that need none."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from fastapi import Request

from backend.access.sender_slots import (
    CALM_SECONDS,
    CROWD_WAITING,
    PROJECT_PLACES,
    STRANGER_PLACES,
    STRANGERS,
    YIELD_SECONDS,
    SenderSlot,
    SenderSlots,
)
from tests.backend.access.test_admission import Line
from tests.backend.access.test_work_slots import settled
from tests.backend.server import OWNER_KEY, Backend, wait_until


def request(token: str = "", address: str = "") -> Request:
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    client = (address, 1) if address else None
    return Request({"type": "http", "headers": headers, "client": client})


async def begun(places: list[SenderSlot]) -> list[asyncio.Task[Any]]:
    tasks = [asyncio.create_task(place.enter()) for place in places]
    await settled()
    return tasks


def held(places: list[SenderSlot]) -> list[bool]:
    return [place.held for place in places]


def test_many_strangers_hold_few_places_and_nobody_elses() -> None:
    async def test() -> None:
        slots = SenderSlots()
        slots.remember(request("good"), "proj_a")
        strangers = [slots.place(request(f"wrong-{number}")) for number in range(200)]
        tasks = await begun(strangers)
        assert held(strangers) == [True] * STRANGER_PLACES + [False] * (200 - STRANGER_PLACES)
        good = slots.place(request("good"))
        await begun([good])
        assert good.held
        good.leave()
        slots._calm.clear()  # as if that were long ago
        for place in strangers:  # in the order in which they came
            assert place.held
            place.leave()
            await settled()
        await asyncio.gather(*tasks)
        assert not slots._held
        assert not slots._waiting

    asyncio.run(test())


def test_a_project_has_its_places_whatever_its_keys() -> None:
    async def test() -> None:
        slots = SenderSlots()
        for number in range(10):
            slots.remember(request(f"a{number}"), "proj_a")
        slots.remember(request("b"), "proj_b")
        slots_of_one = [slots.place(request(f"a{number}")) for number in range(10)]
        tasks = await begun(slots_of_one)
        assert sum(held(slots_of_one)) == PROJECT_PLACES
        other = slots.place(request("b"))
        await begun([other])
        assert other.held
        other.leave()
        tasks[PROJECT_PLACES].cancel()
        await settled()
        slots_of_one[0].leave()
        await settled()
        assert held(slots_of_one)[PROJECT_PLACES : PROJECT_PLACES + 2] == [False, True]
        for place in slots_of_one * 10:
            place.leave()
            await settled()
        assert not slots._held

    asyncio.run(test())


def test_a_crowd_has_half_of_its_slots_while_others_use_theirs() -> None:
    async def test() -> None:
        slots = SenderSlots()
        for name in "ab":
            slots.remember(request(name), f"proj_{name}")
        count = PROJECT_PLACES + CROWD_WAITING
        first = [slots.place(request("a")) for _ in range(count)]
        tasks = await begun(first)
        assert sum(held(first)) == PROJECT_PLACES
        second = [slots.place(request("b")) for _ in range(count)]
        tasks += await begun(second)
        assert sum(held(second)) == PROJECT_PLACES, "a few requests are no crowd yet"
        for place in second[: PROJECT_PLACES // 2]:
            place.leave()
        for place in first[: PROJECT_PLACES // 2]:
            place.leave()
        await settled()
        assert sum(held(first)) == sum(held(second)) == PROJECT_PLACES // 2
        for place in second * count:
            place.leave()
            await settled()
        assert sum(held(first)) == PROJECT_PLACES, "once it is alone it has all of them again"
        for place in first * count:
            place.leave()
            await settled()
        await asyncio.gather(*tasks)
        assert not slots._held
        assert not slots._waiting

    asyncio.run(test())


def test_few_requests_of_a_sender_wait_for_nobody() -> None:
    async def test() -> None:
        slots = SenderSlots()
        for name in "ab":
            slots.remember(request(name), f"proj_{name}")
        crowd = [slots.place(request("a")) for _ in range(PROJECT_PLACES + CROWD_WAITING)]
        tasks = await begun(crowd)
        page = [slots.place(request("b")) for _ in range(PROJECT_PLACES)]
        tasks += await begun(page)
        assert all(held(page))
        for place in [*page, *crowd * 2]:
            place.leave()
            slots._calm.clear()
            await settled()
        await asyncio.gather(*tasks)

    asyncio.run(test())


def test_a_crowd_waits_until_others_are_answered_but_not_for_ever() -> None:
    async def test() -> None:
        slots = SenderSlots()
        for name in "ab":
            slots.remember(request(name), f"proj_{name}")
        crowd = [slots.place(request("a")) for _ in range(PROJECT_PLACES + CROWD_WAITING)]
        tasks = await begun(crowd)
        page = slots.place(request("b"))
        await begun([page])
        for place in crowd[: PROJECT_PLACES + 1]:
            place.leave()
            await settled()
        assert not any(held(crowd)), "the page's request is under way"
        slots._crowd_entered -= 2 * YIELD_SECONDS  # as if so much time were over
        slots._try_again()
        await settled()
        assert sum(held(crowd)) == 1
        crowd[PROJECT_PLACES + 1].leave()
        await settled()
        assert not any(held(crowd))
        page.leave()
        await settled()
        assert sum(held(crowd)) == 1
        slots._calm.clear()
        for place in crowd * 2:
            place.leave()
            await settled()
        await asyncio.gather(*tasks)

    asyncio.run(test())


def test_who_waits_for_time_to_pass_is_let_in_by_it() -> None:
    async def test() -> None:
        slots = SenderSlots()
        slots.remember(request("b"), "proj_b")
        page, stranger, other = slots.place(request("b")), *(slots.place(request()) for _ in range(2))
        await page.enter()
        await stranger.enter()
        stranger.leave()
        await other.enter()  # nobody leaves meanwhile
        assert page.held

    asyncio.run(test())


def test_crowds_share_one_slot_while_somebody_else_is_active() -> None:
    async def test() -> None:
        slots = SenderSlots()
        for name in "ab":
            slots.remember(request(name), f"proj_{name}")
        places = {
            sender: [slots.place(request(token)) for _ in range(CROWD_WAITING + PROJECT_PLACES + 2)]
            for sender, token in (("a", "a"), (STRANGERS, "wrong"))
        }
        tasks = [task for line in places.values() for task in await begun(line)]

        async def finished() -> str:
            """Sender of the one request under way, which ends."""
            (place,) = [place for line in places.values() for place in line if place.held]
            place.leave()
            await settled()
            return place._sender

        page = slots.place(request("b"))
        await begun([page])
        assert page.held
        for place in [place for line in places.values() for place in line if place.held][1:]:
            place.leave()
            await settled()
        assert sum(place.held for line in places.values() for place in line) == 1
        page.leave()
        turns = [await finished() for _ in range(5)]
        assert set(turns[1:3]) == set(turns[3:5]) == {"proj_a", STRANGERS}, turns
        await finished()  # still one at a time, for CALM_SECONDS
        slots._calm["proj_b"] -= 2 * CALM_SECONDS
        await finished_all(places)
        await asyncio.gather(*tasks)
        assert not slots._held
        assert not slots._waiting

    async def finished_all(places: dict[str, list[SenderSlot]]) -> None:
        while running := [place for line in places.values() for place in line if place.held]:
            assert len(running) <= PROJECT_PLACES + STRANGER_PLACES
            for place in running:
                place.leave()
            await settled()

    asyncio.run(test())


def test_a_crowd_alone_has_all_its_slots() -> None:
    async def test() -> None:
        slots = SenderSlots()
        slots.remember(request("a"), "proj_a")
        places = [slots.place(request("a")) for _ in range(3 * CROWD_WAITING)]
        tasks = await begun(places)
        for place in places[: 2 * CROWD_WAITING]:
            assert sum(held(places)) == PROJECT_PLACES
            place.leave()
            await settled()
        for place in places:
            place.leave()
            await settled()
        await asyncio.gather(*tasks)

    asyncio.run(test())


def test_strangers_take_turns_by_address() -> None:
    async def test() -> None:
        slots = SenderSlots()
        crowd = [slots.place(request(address="192.0.2.1")) for _ in range(50)]
        tasks = await begun(crowd)
        person = slots.place(request(address="192.0.2.2"))
        tasks += await begun([person])
        for place in crowd[:2]:
            place.leave()
            await settled()
        assert person.held
        for place in [person, *crowd]:
            place.leave()
            await settled()
        await asyncio.gather(*tasks)
        assert not slots._waiting

    asyncio.run(test())


def test_a_request_that_lasts_gives_its_place_back() -> None:
    async def test() -> None:
        slots = SenderSlots()
        places = [slots.place(request()) for _ in range(STRANGER_PLACES + 1)]
        await asyncio.gather(*(place.enter() for place in places))  # nobody leaves by themselves
        assert not places[0].held

    asyncio.run(test())


def test_strangers_whose_bodies_do_not_come_hold_no_place(backend: Backend) -> None:
    lines = [Line(backend) for _ in range(5 * STRANGER_PLACES)]
    for line in lines:
        line.head("POST", "/api/v1/sign-in", length=1000)
    wait_until(lambda: not backend.app.state.sender_slots._held, "their places to be free")
    answers = [backend.bare.post("/api/v1/sign-in", json={}).status_code for _ in range(3)]
    assert answers == [422] * 3
    for line in lines:
        line.socket.close()
    wait_until(lambda: not backend.app.state.sender_slots._waiting, "nothing to be left over")


def test_a_request_waits_for_slots_of_its_own_sender_only(backend: Backend) -> None:
    assert backend.api.get("/me").status_code == 200
    slots = backend.app.state.sender_slots
    wait_until(lambda: not slots._held, "earlier requests to be over")
    slots._held[STRANGERS] = STRANGER_PLACES  # as if strangers had all places
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(backend.bare.post, "/api/v1/sign-in", json={})
        wait_until(lambda: STRANGERS in slots._waiting, "the stranger to wait")
        assert backend.api.get("/me").status_code == 200
        assert httpx.get(f"{backend.url}/healthz").status_code == 200
        assert backend.worker_api.post("/jobs/claim", json={"worker": "wrk_test"}).status_code < 500
        assert not late.done()
        (line,) = slots._waiting[STRANGERS]._lines.values()
        loop = line[0].get_loop()
        for _ in range(STRANGER_PLACES):
            loop.call_soon_threadsafe(slots.leave, STRANGERS)
        assert late.result(20).status_code == 422
    wait_until(lambda: not slots._held, "its place to be free")


def test_a_key_that_was_valid_uses_its_projects_slots(backend: Backend) -> None:
    key = backend.add_key("viewer")
    assert key.get("/me").status_code == 200
    slots = backend.app.state.sender_slots
    project = backend.api.get("/project").json()["id"]
    token = key.headers["authorization"].removeprefix("Bearer ")
    wait_until(lambda: slots.place(request(token))._sender == project, "the key to be known")
    assert slots.place(request(OWNER_KEY))._sender == project
    assert key.get("/me", headers={"authorization": f"Bearer {token}x"}).status_code == 401
    assert slots.place(request(f"{token}x"))._sender != project

"""People with much to do, whom no limit may hurt."""

import asyncio

import httpx

from tests.backend.server import OWNER_KEY, Backend

STREAMS = 300


def test_one_key_reads_300_streams_at_once(open_lane: Backend) -> None:
    """All are open together, each gets the next event of the job, and other requests are still answered."""
    backend, job = open_lane, open_lane.create_job()
    asyncio.run(asyncio.wait_for(read_all(backend, job), 60))


async def read_all(backend: Backend, job: str) -> None:
    host, port = backend.url.removeprefix("http://").split(":")
    head = (
        f"GET /api/v1/jobs/{job}/stream HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {OWNER_KEY}\r\n\r\n"
    ).encode()
    lines = await asyncio.gather(*(asyncio.open_connection(host, int(port)) for _ in range(STREAMS)))
    try:
        for _, writer in lines:
            writer.write(head)
        starts = await asyncio.gather(*(reader.readuntil(b"\r\n\r\n") for reader, _ in lines))
        assert {start.split(b"\r\n")[0] for start in starts} == {b"HTTP/1.1 200 OK"}
        async with httpx.AsyncClient(
            base_url=backend.url, headers={"authorization": f"Bearer {OWNER_KEY}"}, timeout=30
        ) as client:
            answers = await asyncio.gather(*(client.get(f"/api/v1/jobs/{job}") for _ in range(20)))
            assert {answer.status_code for answer in answers} == {200}
            assert (await client.post(f"/api/v1/jobs/{job}/cancel")).status_code == 200
        await asyncio.gather(*(reader.readuntil(b'"cancelled"') for reader, _ in lines))
    finally:
        for _, writer in lines:
            writer.close()

"""Measurement of how late the event loop runs timers."""

import asyncio

from backend.telemetry.process_figures import LOOP_DELAY

EVERY_SECONDS = 0.25


async def measure_loop_delay() -> None:
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + EVERY_SECONDS
        await asyncio.sleep(EVERY_SECONDS)
        LOOP_DELAY.observe(max(0.0, clock() - due))

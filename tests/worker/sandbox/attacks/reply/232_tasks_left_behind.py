"""232 tasks_left_behind

GOAL: an async answer that leaves tasks, a replaced loop policy and a hook at the loop's end
ACCEPT: contained, exception, timeout
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the neighbours are scored
"""
import asyncio
async def later():
    while True:
        try: await asyncio.sleep(3600)
        except asyncio.CancelledError: continue
async def answer():
    for _ in range(3): asyncio.get_running_loop().create_task(asyncio.sleep(3600))
    return 0.25
def attack(item): return answer()

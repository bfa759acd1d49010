"""231 awaitable_that_never_ends

GOAL: an async answer that yields for ever
ACCEPT: timeout
NEIGHBOURS: ok
CALL: score
STYLE: sample
MUST: the unit's deadline holds inside the event loop
"""
class Never:
    def __await__(self):
        while True: yield
async def wait(): await Never()
def attack(item): return wait()

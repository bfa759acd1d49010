"""Check of an address that the platform stores and calls later."""

import asyncio

from reinforge.errors import InvalidInput
from reinforge.net.outbound import AddressRefused, Guard, Unresolved

_LOOK_UP_SECONDS = 5.0


async def check_address(guard: Guard, url: str, *, param: str, hint: str) -> None:
    """Raise InvalidInput `url_not_allowed` if an address may not be called. One that does not resolve passes,
    since every call checks again. Use outside transactions.
    """
    try:
        async with asyncio.timeout(_LOOK_UP_SECONDS):
            await guard.target(url)
    except (Unresolved, TimeoutError):
        return
    except AddressRefused as error:
        message = f"{str(error)[:1].upper()}{str(error)[1:]}."
        raise InvalidInput(message, code="url_not_allowed", param=param, hint=hint) from error

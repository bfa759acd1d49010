"""Uploads of large files in parts, which can be resumed."""

import hashlib
from pathlib import Path

from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.protocol import ServerUnreachable
from reinforge.client.shared import Progress, complete_seconds, part_of
from reinforge.errors import StateConflict
from reinforge.schemas.resources import Dataset
from reinforge.schemas.uploads import DatasetUpload, PartDestination


async def send(
    transport: AsyncTransport,
    path: Path,
    *,
    name: str,
    sha256: str,
    skip_bad_rows: bool = False,
    progress: Progress | None = None,
) -> Dataset:
    """Upload a file in parts, or resume its unfinished upload. Call it again after ServerUnreachable."""
    body = {"filename": path.name, "bytes": path.stat().st_size, "name": name, "sha256": sha256}
    try:
        upload = DatasetUpload.model_validate(await transport.post("/uploads", body))
        done, direct = sum(part.bytes for part in upload.parts), upload.direct
        with path.open("rb") as file:
            for number in upload.missing:
                if progress:
                    progress(done, upload.bytes)
                data = part_of(file, upload, number)
                direct = await send_part(transport, upload, number, data, direct)
                done += len(data)
        if progress:
            progress(upload.bytes, upload.bytes)
        ended = await transport.post(
            f"/uploads/{upload.id}/complete",
            params={"skip_bad_rows": "true"} if skip_bad_rows else None,
            at_least=complete_seconds(upload.bytes),
        )
    except ServerUnreachable as error:
        error.hint = "Parts already sent are stored for a day: push the same file again to send the rest."
        raise
    dataset = DatasetUpload.model_validate(ended).dataset
    if dataset is None:
        raise StateConflict("The dataset was deleted during the upload.", code="dataset_not_found")
    return dataset


async def send_part(
    transport: AsyncTransport, upload: DatasetUpload, number: int, data: bytes, direct: bool
) -> bool:
    """Send one part; returns whether it went directly to the storage bucket."""
    sha256 = hashlib.sha256(data).hexdigest()
    place = f"/uploads/{upload.id}/parts/{number}"
    if direct:
        where = PartDestination.model_validate(
            await transport.post(f"{place}/url", params={"sha256": sha256})
        )
        if await transport.put_elsewhere(where.url, headers=where.headers, data=data):
            return True
    await transport.request("PUT", place, params={"sha256": sha256}, content=data)
    return False

"""GET /client/…: this version's client as a wheel, like the one of `make build`."""

import base64
import functools
import hashlib
import io
import zipfile
from dataclasses import dataclass
from html import escape
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

import reinforge
from reinforge.errors import NotFound, Unavailable
from reinforge.offline.examples import NAMES, folder_of

router = APIRouter(prefix="/client", include_in_schema=False)

_PACKAGE = Path(reinforge.__file__).resolve().parent
_WHEEL = "Wheel-Version: 1.0\nGenerator: reinforge\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Wheel:
    name: str
    content: bytes
    sha256: str


@functools.cache
def client_wheel() -> Wheel:
    try:
        installed = distribution("reinforge")
    except PackageNotFoundError as error:
        raise Unavailable(
            "The metadata of the package reinforge is not installed here.",
            code="client_wheel_unavailable",
            hint="Install the platform with pip (docs/install.md), or run `make setup`.",
        ) from error
    info = f"reinforge-{reinforge.__version__}.dist-info"
    files = _package_files() | {f"{info}/{name}": data for name, data in _metadata(installed).items()}
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in sorted(files.items()))
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    content = _zipped(files)
    name = f"reinforge-{reinforge.__version__}-py3-none-any.whl"
    return Wheel(name, content, hashlib.sha256(content).hexdigest())


def _package_files() -> dict[str, bytes]:
    folders = {"reinforge": _PACKAGE} | {f"reinforge/examples/{name}": folder_of(name) for name in NAMES}
    return {
        f"{place}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for place, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _metadata(installed: Distribution) -> dict[str, bytes]:
    """Metadata with the running version: a checkout's installed metadata may be older."""
    lines = (installed.read_text("METADATA") or "").split("\n")
    version = next(i for i, line in enumerate(lines) if line.startswith("Version:"))
    lines[version] = f"Version: {reinforge.__version__}"
    texts = {
        "METADATA": "\n".join(lines),
        "WHEEL": _WHEEL,
        "entry_points.txt": installed.read_text("entry_points.txt") or "",
        "licenses/LICENSE": installed.read_text("licenses/LICENSE") or "",
    }
    return {name: text.encode() for name, text in texts.items() if text}


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files, key=lambda name: (name.endswith("/RECORD"), name)):
            entry = zipfile.ZipInfo(name, date_time=(2020, 2, 2, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def _address(request: Request, wheel: Wheel) -> str:
    return f"{str(request.base_url).rstrip('/')}/client/{wheel.name}"


@router.get("/latest")
async def latest() -> PlainTextResponse:
    """The wheel's file name, for scripts: `pip install "$URL/client/$(curl -fsS "$URL/client/latest")"`."""
    wheel = await to_thread.run_sync(client_wheel)
    return PlainTextResponse(f"{wheel.name}\n", headers=_HEADERS)


@router.get("/")
async def index(request: Request) -> HTMLResponse:
    """A link to the wheel; pip reads such a page with --find-links."""
    wheel = await to_thread.run_sync(client_wheel)
    address = escape(_address(request, wheel))
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Reinforge client</title>"
        "<h1>Reinforge client</h1><p>Command line and Python SDK of this server's version:</p>"
        f"<pre>pip install {address}</pre>"
        f'<p><a href="{wheel.name}#sha256={wheel.sha256}">{wheel.name}</a></p></html>\n'
    )
    return HTMLResponse(page, headers=_HEADERS)


@router.api_route("/{name}", methods=["GET", "HEAD"])
async def download(name: str, request: Request) -> Response:
    """The wheel. Raises NotFound for another version's name."""
    wheel = await to_thread.run_sync(client_wheel)
    if name != wheel.name:
        raise NotFound(
            f"There is no {name} here: this server's client is {wheel.name}.",
            code="client_wheel_not_found",
            hint=f"Run `pip install {_address(request, wheel)}`.",
        )
    headers = {**_HEADERS, "etag": f'"{wheel.sha256}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(wheel.content, media_type="application/zip", headers=headers)

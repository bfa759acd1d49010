#!/usr/bin/env python3
"""Pin base images by the digests that their tags have today.

    .venv/bin/python scripts/pin_images.py [.env]        # of this installation, in .env
    .venv/bin/python scripts/pin_images.py --defaults    # `make image-digests`: in the checkout

The registry of each image is asked, by the distribution protocol. `--defaults` replaces the digests in Dockerfile,
docker-compose.yml and .env.example, and refuses an image that is not built for several architectures. All values are
written, or none.
"""

import re
import sys
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
HUB = "registry-1.docker.io"
DEFAULTS = ("Dockerfile", "docker-compose.yml", ".env.example")
INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
TYPES = ", ".join(
    (
        *INDEXES,
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class NoDigest(Exception):
    """A registry named no digest for an image."""


def base_images(root: Path = ROOT) -> dict[str, str]:
    """Variable → image and tag, as .env.example has them."""
    lines = (root / ".env.example").read_text(encoding="utf-8").splitlines()
    pairs = (line.removeprefix("#").partition("=") for line in lines)
    return {name: value.partition("@")[0] for name, _, value in pairs if name.endswith("_IMAGE")}


def address(image: str) -> tuple[str, str, str]:
    """(registry, repository, tag) of an image's name."""
    name, _, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "latest")
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return first, rest, tag
    return HUB, name if slash else f"library/{name}", tag


def digest(client: httpx.Client, image: str, *, index: bool = False) -> str:
    """The digest of a tag: HEAD of its manifest. index: only of several architectures. Raises NoDigest."""
    registry, repository, tag = address(image)
    # Docker, too, speaks plain HTTP to a registry on loopback.
    scheme = "http" if registry.partition(":")[0] in ("localhost", "127.0.0.1") else "https"
    url = f"{scheme}://{registry}/v2/{repository}/manifests/{tag}"
    headers = {"accept": TYPES}
    try:
        answer = client.head(url, headers=headers)
        if answer.status_code == 401:
            token = _token(client, answer.headers.get("www-authenticate", ""))
            answer = client.head(url, headers=headers | {"authorization": f"Bearer {token}"})
        answer.raise_for_status()
    except (httpx.HTTPError, KeyError, ValueError) as error:
        raise NoDigest(f"{image}: {registry} did not answer with a manifest: {error}") from error
    value: str = answer.headers.get("docker-content-digest", "")
    if not DIGEST.fullmatch(value):
        raise NoDigest(f"{image}: {registry} names no digest")
    if index and answer.headers.get("content-type", "").partition(";")[0] not in INDEXES:
        raise NoDigest(f"{image}: {registry} has it for one architecture only")
    return value


def _token(client: httpx.Client, challenge: str) -> str:
    """An anonymous token for what a registry's 401 asks. Raises httpx.HTTPError, KeyError or ValueError."""
    fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    realm = fields.pop("realm")
    answer = client.get(realm, params=fields).raise_for_status().json()
    return str(answer.get("token") or answer["access_token"])


def with_lines(text: str, values: dict[str, str]) -> str:
    """An env file's text in which each variable has its value, once."""
    for name, value in values.items():
        line = re.compile(rf"^#?{name}=.*$", re.MULTILINE)
        new = f"{name}={value}"
        text = line.sub(new, text, count=1) if line.search(text) else f"{text.rstrip()}\n{new}\n"
    return text


def with_defaults(text: str, values: dict[str, str]) -> str:
    """Text of a file of DEFAULTS in which each variable has its value as the default."""
    for name, value in values.items():
        default = re.compile(rf"(^ARG {name}=|^#{name}=|\$\{{{name}:-)[^\s}}]+", re.MULTILINE)
        text = default.sub(lambda match, value=value: match[1] + value, text)
    return text


def _replace(file: Path, text: str) -> None:
    new = file.with_name(f"{file.name}.new")
    new.touch(mode=0o600)
    new.write_text(text, encoding="utf-8")
    new.chmod(file.stat().st_mode & 0o777)
    new.replace(file)


def main(arguments: list[str], root: Path = ROOT) -> None:
    defaults = arguments == ["--defaults"]
    env_file = Path(arguments[0]) if arguments else root / ".env"
    files = [root / name for name in DEFAULTS] if defaults else [env_file]
    for file in files:
        if not file.exists():
            raise SystemExit(f"{file} does not exist: scripts/make_env.sh writes it")
    with httpx.Client(timeout=30, follow_redirects=True) as client:
        try:
            values = {
                name: f"{image}@{digest(client, image, index=defaults)}"
                for name, image in base_images(root).items()
            }
        except NoDigest as error:
            raise SystemExit(f"{error}. {', '.join(file.name for file in files)}: unchanged.") from error
    for file in files:
        text = file.read_text(encoding="utf-8")
        _replace(file, with_defaults(text, values) if defaults else with_lines(text, values))
    for name, value in values.items():
        print(f"{name}={value}")


if __name__ == "__main__":
    main(sys.argv[1:])

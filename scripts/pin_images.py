#!/usr/bin/env python3
"""Pin the base images of Dockerfile and docker-compose.yml by digest, in .env.

    .venv/bin/python scripts/pin_images.py [.env]

Asks each image's registry for the digest that its tag has today, and writes `NAME_IMAGE=image:tag@sha256:…`. Docker
then builds and runs exactly these, whatever the tags mean tomorrow. Run it again for updates of the base images; all
lines are written, or none.
"""

import re
import sys
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
HUB = "registry-1.docker.io"
TYPES = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class NoDigest(Exception):
    """A registry named no digest for an image."""


def base_images() -> dict[str, str]:
    """Variable → image and tag, as .env.example has them."""
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    pairs = (line.removeprefix("#").partition("=") for line in lines)
    return {name: value for name, _, value in pairs if name.endswith("_IMAGE")}


def address(image: str) -> tuple[str, str, str]:
    """(registry, repository, tag) of an image's name."""
    name, _, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "latest")
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return first, rest, tag
    return HUB, name if slash else f"library/{name}", tag


def digest(client: httpx.Client, image: str, scheme: str = "https") -> str:
    """The digest of a tag, by the distribution protocol: HEAD of its manifest. Raises NoDigest."""
    registry, repository, tag = address(image)
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


def main(arguments: list[str]) -> None:
    file = Path(arguments[0]) if arguments else ROOT / ".env"
    if not file.exists():
        raise SystemExit(f"{file} does not exist: scripts/make_env.sh writes it")
    with httpx.Client(timeout=30, follow_redirects=True) as client:
        try:
            values = {name: f"{image}@{digest(client, image)}" for name, image in base_images().items()}
        except NoDigest as error:
            raise SystemExit(f"{error}. {file} is unchanged.") from error
    new = file.with_name(f"{file.name}.new")
    new.touch(mode=0o600)
    new.write_text(with_lines(file.read_text(encoding="utf-8"), values), encoding="utf-8")
    new.replace(file)
    for name, value in values.items():
        print(f"{name}={value}")


if __name__ == "__main__":
    main(sys.argv[1:])

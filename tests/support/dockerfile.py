"""The Dockerfile's stages, for tests that have no Docker."""

import re

from tests.support.compose import ROOT

_STAGE = re.compile(r"^FROM (\S+) AS (\S+)\n(.*?)(?=^FROM |\Z)", re.DOTALL | re.MULTILINE)


def parents() -> dict[str, str]:
    """Stage → the stage or image that it begins with."""
    return {match[2]: match[1] for match in _STAGE.finditer((ROOT / "Dockerfile").read_text())}


def stages() -> dict[str, str]:
    """Stage → its instructions, after those of the stages that it begins with."""
    texts: dict[str, str] = {}
    for match in _STAGE.finditer((ROOT / "Dockerfile").read_text()):
        texts[match[2]] = texts.get(match[1], "") + match[3]
    return texts

"""Every field that OpenAI's SDKs can send with a chat is one that we honour, ignore or refuse by name."""

import json
import os
import subprocess
import sys

import pytest

from reinforge.schemas.openai_chat import ChatRequest
from scripts.openai_sdks import FOLDER, RELEASES

FIELDS = """
import json
from openai.types.chat import completion_create_params as params
both = (params.CompletionCreateParamsNonStreaming, params.CompletionCreateParamsStreaming)
print(json.dumps(sorted({name for each in both for name in each.__annotations__})))
"""


@pytest.mark.parametrize("sdk", list(RELEASES))
def test_every_field_of_a_chat_is_handled(sdk: str) -> None:
    folder = FOLDER / sdk
    if not (folder / "complete").exists():
        pytest.skip(f"openai {sdk} is not installed: scripts/openai_sdks.py installs it")
    process = subprocess.run(
        [sys.executable, "-S", "-c", FIELDS],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    fields = json.loads(process.stdout)
    assert {"messages", "model", "stream", "tools"} <= set(fields)
    unknown = sorted(set(fields) - set(ChatRequest.model_fields))
    assert unknown == [], "the SDK sends them: honour, ignore or refuse them, and say so in the guide"

"""Imports a file: `.py` as rewards, others as an OpenAI job in JSON."""

import json
from pathlib import Path

from reinforge.errors import InvalidInput
from reinforge.imports import openai_job, reward_file
from reinforge.imports.project import ImportedProject


def read(path: Path, model: str, rows: int | None = None) -> ImportedProject:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InvalidInput(f"There is no file {path}.", code="file_not_found", param="file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error}.", code="file_unreadable", param="file"
        ) from error
    if path.suffix == ".py":
        return reward_file.project(text, path.name, model)
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path.name} is not valid JSON: {error}.",
            code="invalid_json",
            param="file",
            hint="Give a fine-tuning job as JSON (`client.fine_tuning.jobs.retrieve(id).to_json()`) or rewards as .py.",
        ) from error
    return openai_job.project(raw, path.name, model, rows)

"""The files that an import writes."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from reinforge.errors import InvalidInput
from reinforge.offline import jobfile

STUB_ROWS = 4
_REPLACE = "replace this"


@dataclass
class ImportedProject:
    """A job file with the files of its reward."""

    origin: str
    job: dict[str, Any]
    files: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    conversations: bool = True
    notes: list[str] = field(default_factory=list)

    def use_data(self, path: Path | None, folder: Path) -> None:
        """Set the job's dataset to the rows at `path`; if it is None, to placeholder rows."""
        if path is not None:
            self.job["data"]["dataset"] = os.path.relpath(path, folder)
            return
        self.job["data"]["dataset"] = "data.jsonl"
        self.files["data.jsonl"] = self._stub()
        if "held_out" in self.job["data"]:
            self.files[self.job["data"]["held_out"]] = self._stub()
        columns = f" and the columns {', '.join(self.columns)}" if self.columns else ""
        shape = "messages" if self.conversations else "prompt"
        self.notes.append(f"data.jsonl is a stub: put rows with {shape}{columns} into it.")

    def write(self, folder: Path) -> list[Path]:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidInput(
                f"{folder} already exists and is not an empty folder.",
                code="folder_not_empty",
                param="to",
                hint="Name another folder with --to.",
            )
        jobfile.validate(self.job)  # write only a valid job
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        job = folder / "job.yaml"
        job.write_text(self._job_file(), encoding="utf-8")
        return [job, *(folder / name for name in self.files)]

    def _job_file(self) -> str:
        lines = [f"From {self.origin}.", *self.notes]
        head = "".join(f"# {line}\n" for text in lines for line in text.splitlines())
        return head + yaml.safe_dump(self.job, sort_keys=False, allow_unicode=True, width=110)

    def _stub(self) -> str:
        rows = []
        for number in range(STUB_ROWS):
            text = f"{_REPLACE}: prompt {number + 1}"
            prompt = (
                {"messages": [{"role": "user", "content": text}]} if self.conversations else {"prompt": text}
            )
            rows.append(prompt | {name: f"{_REPLACE}: {name} {number + 1}" for name in self.columns})
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

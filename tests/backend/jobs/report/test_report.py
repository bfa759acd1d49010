"""A job as one HTML file: what it contains, and that hostile texts stay texts."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from reinforge.client import Reinforge
from tests.backend.jobs.monitoring.test_group import group, send
from tests.backend.server import OWNER_KEY, Backend

HOSTILE = "</pre></script><script>alert(1)</script><img src=http://evil.test/x onerror=alert(2)>\" ' &lt;"
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "p", "h1", "h2", "h3", "ul", "li", "b", "i", "small",
    "section", "strong", "dl", "div", "dt", "dd", "figure", "figcaption", "span", "svg", "path", "text", "polygon",
    "polyline", "circle", "table", "thead", "tbody", "tr", "th", "td", "article", "pre", "details", "summary", "footer",
}  # fmt: skip


class Document(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.titles: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def hostile_group(prompt_no: int, **changes: Any) -> list[dict[str, Any]]:
    rows = group(prompt_no, f"hash {prompt_no}", prompt_messages="[]", prompt=f"prompt {HOSTILE}", **changes)
    return [row | {"text": f"completion {HOSTILE}", "error": HOSTILE, "reward": None} for row in rows]


@pytest.fixture(scope="module")
def job(rpc_backend: Backend) -> str:
    id = rpc_backend.create_job(name=f"name {HOSTILE}")
    changes = {"notes": f"notes {HOSTILE}", "add_tags": ["<i>tag"]}
    rpc_backend.api.patch(f"/jobs/{id}", json=changes, headers={"if-match": "*"}).raise_for_status()
    trainer = rpc_backend.claim(id)
    trainer.start()
    trainer.evaluate(0, 0.25)
    for step in range(1, 4):
        trainer.step(step, **{"reward/mean": 0.25 * step, "entropy/mean": 1.0 / step})
        trainer.evaluate(step, 0.25 + 0.125 * step)
    send(trainer, 3, "train", [group(0, "only trained")])
    send(trainer, 3, "held_out", [hostile_group(0), hostile_group(1)])
    return id


def report(backend: Backend, job: str, **query: Any) -> Document:
    response = backend.api.get(f"/jobs/{job}/report", params=query)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/html")
    assert response.headers["content-disposition"].startswith("attachment;")
    assert "default-src 'none'" in response.headers["content-security-policy"]
    return Document(response.text)


def test_it_contains_what_the_page_shows(rpc_backend: Backend, job: str) -> None:
    page = report(rpc_backend, job)
    for text in ("running", "train mean 0.25 → 0.75", "held-out 0.25 → 0.625", "0.375", "0 (base)", "3", "tiny",
                 "With every default", "learning_rate", "Reference answer: 42"):  # fmt: skip
        assert text in page.text, text
    assert "svg" in page.tags and "only trained" not in page.text


def test_hostile_texts_stay_texts(rpc_backend: Backend, job: str) -> None:
    page = report(rpc_backend, job)
    assert page.tags <= TAGS
    assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "href")}
    for text in ("name", "notes", "prompt", "completion"):
        assert f"{text} {HOSTILE}" in page.text, text
    assert "<i>tag" in page.text


def test_it_leaves_samples_out_on_request(rpc_backend: Backend, job: str) -> None:
    page = report(rpc_backend, job, samples=0)
    assert "Sample completions" not in page.text and f"prompt {HOSTILE}" not in page.text
    one = report(rpc_backend, job, samples=1)
    assert one.text.count(f"prompt {HOSTILE}") == 1


def test_a_job_without_steps_has_a_report(rpc_backend: Backend) -> None:
    page = report(rpc_backend, rpc_backend.create_job(name="young"))
    assert "young" in page.text and "svg" not in page.tags


def test_the_sdk_writes_the_file(rpc_backend: Backend, job: str, tmp_path: Path) -> None:
    with Reinforge(rpc_backend.url, OWNER_KEY) as client:
        written = client.jobs.export(job, tmp_path / "out" / "job.html", samples=0)
    assert "Held-out rows" in written.read_text()

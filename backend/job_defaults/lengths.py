"""Lengths of a dataset's prompts and answers in tokens, counted by a worker, or estimated if none answers."""

import time
from collections import OrderedDict

from anyio.lowlevel import RunVar

from backend.datasets import service as datasets
from backend.datasets.prompts.rendering import check_view
from backend.datasets.reading import RowPrompt, read_in_background, read_sample
from backend.jobs import service as jobs
from backend.jobs.submission.submit import SubmitServices
from backend.jobs.submission.validate_on_worker import read_longest
from backend.models import BaseModel, Dataset
from backend.rpc.queued import QueuedRendering
from reinforge.dataset import PromptRow, prompt_characters
from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.job_defaults import MeasuredTexts
from reinforge.job_defaults.sizes import tokens_of
from reinforge.schemas.datasets import PromptView
from reinforge.schemas.rpc.models import RENDER
from reinforge.spec import DataSpec

SAMPLE_ROWS = 256
LONGEST_ROWS = 16
COUNT_SECONDS = 3.0
UNCOUNTED_SECONDS = 60.0
"""Seconds for which an estimate from characters is reused."""
MOST_CACHED = 256
ONE_TOKEN = "0"

_cached: RunVar[OrderedDict[str, tuple[MeasuredTexts | None, float]]] = RunVar("lengths for job defaults")


async def measured_texts(
    services: SubmitServices, dataset: Dataset, model: BaseModel, data: DataSpec
) -> MeasuredTexts | None:
    view = PromptView(
        columns=data.columns, prompt_template=data.prompt_template, system_prompt=data.system_prompt
    )
    key = f"{dataset.sha256} {model.key} {model.sha256} {view.model_dump_json()}"
    cached = _cached.get(OrderedDict())
    _cached.set(cached)
    texts, until = cached.get(key, (None, 0.0))
    if time.monotonic() < until:
        return texts
    try:
        check_view(dataset, view)
    except InvalidInput:
        return None
    texts = await _measure(services, dataset, model, data, view)
    lasting = texts is None or texts.counted
    cached[key] = (texts, float("inf") if lasting else time.monotonic() + UNCOUNTED_SECONDS)
    cached.move_to_end(key)
    while len(cached) > MOST_CACHED:
        cached.popitem(last=False)
    return texts


async def _measure(
    services: SubmitServices, dataset: Dataset, model: BaseModel, data: DataSpec, view: PromptView
) -> MeasuredTexts | None:
    path = await datasets.local_file(services.objects, dataset, jobs.dataset_cache(services.settings))
    place = (str(path), dataset.format)
    rows, failure = await read_in_background(dataset, read_longest, *place, data.model_dump_json())
    if failure is not None or not rows:
        return None
    names = [column["name"] for column in dataset.columns]
    if view.columns.answer is None and "answer" in names:
        view = view.model_copy(update={"columns": view.columns.model_copy(update={"answer": "answer"})})
    sample = await read_in_background(
        dataset, read_sample, *place, view.model_dump_json(), dataset.rows, SAMPLE_ROWS
    )
    answer = _long_answer(sample)
    try:
        return await _counted(services, model, rows[:LONGEST_ROWS], answer)
    except ReinforgeError:
        characters = max(prompt_characters(row.messages, row.tools) for row in rows[:LONGEST_ROWS])
        return MeasuredTexts(
            longest_prompt=tokens_of(characters, model.vocabulary),
            longest_answer=None if answer is None else tokens_of(len(answer), model.vocabulary),
            counted=False,
        )


def _long_answer(sample: list[RowPrompt]) -> str | None:
    answers = sorted((row.answer for row in sample if row.answer), key=len)
    return answers[min(len(answers) - 1, int(0.95 * len(answers)))] if answers else None


async def _counted(
    services: SubmitServices, model: BaseModel, rows: list[PromptRow], answer: str | None
) -> MeasuredTexts:
    answers = [] if answer is None else [answer, ONE_TOKEN]
    messages = [row.messages for row in rows] + [[{"role": "user", "content": text}] for text in answers]
    request = QueuedRendering(
        model_key=model.key,
        model_source=model.source,
        rows=messages,
        tools=[*(row.tools for row in rows), *(None for _ in answers)],
        tolerant=True,
        texts=False,
    )
    result = await services.calls.ask(RENDER, request, timeout=COUNT_SECONDS)
    tokens = [prompt.tokens for prompt in result.prompts]
    prompts = [count for count in tokens[: len(rows)] if count is not None]
    if not prompts:
        raise InvalidInput("No prompt can be rendered.", code="prompt_not_renderable")
    longest_answer = None
    if answers:
        whole, one = tokens[len(rows) :]
        longest_answer = None if whole is None or one is None else max(1, whole - one + 1)
    return MeasuredTexts(longest_prompt=max(prompts), longest_answer=longest_answer, counted=True)

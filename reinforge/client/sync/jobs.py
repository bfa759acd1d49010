# Generated from reinforge/client/aio/jobs.py by scripts/sync_client.py: change that file.
"""Jobs: start, watch, change, read."""

import builtins
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from httpx_sse import EventSource

from reinforge.client.protocol import WORKER_SECONDS, Outage, error_from, retry_wait
from reinforge.client.shared import RESTS, Progress, StreamRefused, document
from reinforge.client.sync.comparisons import Comparisons
from reinforge.client.sync.downloads import extract, save
from reinforge.client.sync.paging import iterate
from reinforge.diagnosis.finding import Remedy
from reinforge.evaluation.checkpoint_choice import Which, pick_checkpoint
from reinforge.schemas.checkpoints import Checkpoint
from reinforge.schemas.evaluations import Calibration, LabelCreate, LabelList, LabelView
from reinforge.schemas.findings import FindingEntry
from reinforge.schemas.job_changes import (
    JobChangeList,
    JobChangeView,
    JobCommandView,
    JobSetting,
    JobSettingList,
)
from reinforge.schemas.job_checks import JobCheck
from reinforge.schemas.job_defaults import JobDefaults
from reinforge.schemas.job_labels import Archived, JobFacets
from reinforge.schemas.job_prompts import JobPromptPage, PromptCategory
from reinforge.schemas.job_shares import JobShare, JobShareCreated, JobShareList
from reinforge.schemas.jobs import (
    Completion,
    CompletionGroup,
    CompletionHits,
    CompletionPage,
    GroupList,
    Job,
    JobDetail,
    JobEvent,
    JobFamily,
    JobStart,
    JobStartList,
    LogEntry,
    Metrics,
)
from reinforge.schemas.report_card import CardFormat, CardManifest, ReportCard
from reinforge.schemas.resources import Dataset
from reinforge.schemas.traces import TraceSelection
from reinforge.schemas.training_checks import JobTrainingCheck
from reinforge.spec import JobSpec
from reinforge.states import FINAL, JobStatus


class Jobs(Comparisons):
    def create(self, spec: JobSpec | dict[str, Any]) -> JobDetail:
        return JobDetail.model_validate(
            self._transport.post("/jobs", document(spec), at_least=WORKER_SECONDS)
        )

    def check(self, spec: JobSpec | dict[str, Any], *, quick: bool = False) -> JobCheck:
        """Report all faults of a specification, by field. `quick` leaves out checks that need a worker."""
        params = {"quick": "true"} if quick else None
        return JobCheck.model_validate(
            self._transport.post("/jobs/check", document(spec), at_least=WORKER_SECONDS, params=params)
        )

    def defaults(self, spec: JobSpec | dict[str, Any]) -> JobDefaults:
        """Suggest values, with reasons, for fields that are left open, and estimate the job's time."""
        return JobDefaults.model_validate(
            self._transport.post("/jobs/defaults", document(spec), at_least=WORKER_SECONDS)
        )

    def start_demo(self) -> JobDetail:
        """Queue the demo job, or return an unfinished or succeeded one."""
        return JobDetail.model_validate(self._transport.post("/demo", at_least=WORKER_SECONDS))

    def list(
        self,
        *,
        status: str | Sequence[str] | None = None,
        dataset: str | None = None,
        reward: str | None = None,
        q: str | None = None,
        tag: str | Sequence[str] | None = None,
        model: str | None = None,
        preset: str | None = None,
        owner: str | None = None,
        archived: Archived | None = None,
        sort: str | None = None,
        setting: Sequence[str] | None = None,
    ) -> Iterator[Job]:
        """Jobs, newest first. `dataset` and `reward` are ids, `q` a part of name or id.

        `sort`: such as `-held_out_reward` or `spec.optimizer.learning_rate`. `setting`: dotted paths that
        `Job.settings` shows.
        """
        return iterate(
            self._transport, "/jobs", Job, status=status, dataset=dataset, reward=reward, q=q, tag=tag,
            model=model, preset=preset, owner=owner, archived=archived, sort=sort, setting=setting,
        )  # fmt: skip

    def facets(self) -> JobFacets:
        return JobFacets.model_validate(self._transport.get("/job-facets"))

    def update(
        self,
        id: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        archived: bool | None = None,
        etag: str | None = None,
    ) -> JobDetail:
        """Change a job's name, notes (Markdown), tags or archived state; None leaves a field as it is."""
        body = {"name": name, "notes": notes, "archived": archived, "add_tags": [*add_tags]}
        body |= {"remove_tags": [*remove_tags], "tags": None if tags is None else [*tags]}
        return JobDetail.model_validate(self._transport.patch(f"/jobs/{id}", body, etag=etag or "*"))

    def get(self, id: str) -> JobDetail:
        return JobDetail.model_validate(self._transport.get(f"/jobs/{id}"))

    def cancel(self, id: str) -> JobDetail:
        return JobDetail.model_validate(self._transport.post(f"/jobs/{id}/cancel"))

    def pause(self, id: str) -> JobDetail:
        """Pause a job after the current step, with a checkpoint for `resume`."""
        return JobDetail.model_validate(self._transport.post(f"/jobs/{id}/pause"))

    def resume(self, id: str) -> JobDetail:
        return JobDetail.model_validate(self._transport.post(f"/jobs/{id}/resume"))

    def delete(self, id: str) -> None:
        """Delete an ended job and all its data. Owners only."""
        self._transport.delete(f"/jobs/{id}")

    def change_reward(
        self, id: str, *, reward: str | None = None, stored: str | None = None, revision: int | None = None
    ) -> JobChangeView:
        """Use another stored reward or revision from the next step on."""
        body = {"reward": reward, "stored": stored, "revision": revision}
        return JobChangeView.model_validate(
            self._transport.post(f"/jobs/{id}/changes", body, at_least=WORKER_SECONDS)
        )

    def change_setting(self, id: str, setting: str, value: float) -> JobChangeView:
        """Change one of the numbers that `settings` lists, from the next step on."""
        body = {"type": "setting", "setting": setting, "value": value}
        return JobChangeView.model_validate(self._transport.post(f"/jobs/{id}/changes", body))

    def settings(self, id: str) -> builtins.list[JobSetting]:
        """Numbers that can be changed while the job runs, and their values."""
        return JobSettingList.model_validate(self._transport.get(f"/jobs/{id}/settings")).data

    def checkpoint(self, id: str) -> JobCommandView:
        """Request a checkpoint after the current step."""
        return JobCommandView.model_validate(self._transport.post(f"/jobs/{id}/checkpoint"))

    def changes(self, id: str) -> builtins.list[JobChangeView]:
        return JobChangeList.model_validate(self._transport.get(f"/jobs/{id}/changes")).data

    def fork(
        self,
        id: str,
        *,
        step: int | None = None,
        name: str | None = None,
        set: dict[str, Any] | None = None,
    ) -> JobDetail:
        """Start a new job from a step of this one; `set`: values by dotted path in the specification."""
        body = {"step": step, "name": name, "set": set or {}}
        return JobDetail.model_validate(
            self._transport.post(f"/jobs/{id}/fork", body, at_least=WORKER_SECONDS)
        )

    def starts(self, id: str) -> builtins.list[JobStart]:
        return JobStartList.model_validate(self._transport.get(f"/jobs/{id}/starts")).data

    def family(self, id: str) -> builtins.list[Job]:
        """The job, its ancestors and all their forks, oldest first."""
        return JobFamily.model_validate(self._transport.get(f"/jobs/{id}/family")).data

    def metrics(
        self,
        id: str,
        *,
        keys: Sequence[str] | None = None,
        buckets: int | None = None,
        from_step: int | None = None,
        to_step: int | None = None,
    ) -> Metrics:
        """Get all points; with `buckets`, last, least and greatest values of up to that many step ranges."""
        query = {"key": keys, "buckets": buckets, "from_step": from_step, "to_step": to_step}
        return Metrics.model_validate(self._transport.get(f"/jobs/{id}/metrics", **query))

    def completions(self, id: str, **query: Any) -> CompletionPage:
        """One page of a step's completions.

        Query: step, split (`train` or `held_out`), prompt_no, sort (`reward`, `-reward` …), limit, offset.
        """
        return CompletionPage.model_validate(self._transport.get(f"/jobs/{id}/completions", **query))

    def search_completions(self, id: str, q: str | None = None, **query: Any) -> CompletionHits:
        """One page of the completions that match a search: words (`carry "ten ones" -wrong`) and ranges of numbers.

        Query: split, prompt_hash, step_from, step_to, reward_min, reward_max, advantage (`positive`, `negative`,
        `zero`, `none`), finish_reason, failed, length_min, length_max, turns_min, turns_max, tool, tool_status (of the
        same call; `error`: any but `ok`), sort (`-step`, `reward`, `-length` …), limit, after (the previous page's
        `next_cursor`).
        """
        return CompletionHits.model_validate(
            self._transport.get(f"/jobs/{id}/completions/search", q=q, **query)
        )

    def prompts(
        self,
        id: str,
        *,
        split: str = "train",
        category: PromptCategory | None = None,
        q: str | None = None,
        sort: str = "row",
        limit: int = 50,
        after: str | None = None,
    ) -> JobPromptPage:
        """One page of the dataset rows that the job sampled, over all steps.

        sort: `row`, `pass_share`, `last`, `change`, `variance` or `draws`, descending with `-` in front.
        """
        query = {"split": split, "category": category, "q": q, "sort": sort, "limit": limit, "after": after}
        return JobPromptPage.model_validate(self._transport.get(f"/jobs/{id}/prompts", **query))

    def groups(self, id: str, *, step: int | None = None, split: str = "train") -> GroupList:
        """All groups of one step (default: the newest), each with rewards and the beginning of its prompt."""
        return GroupList.model_validate(self._transport.get(f"/jobs/{id}/groups", step=step, split=split))

    def group(self, id: str, split: str, step: int, prompt_no: int) -> CompletionGroup:
        return CompletionGroup.model_validate(
            self._transport.get(f"/jobs/{id}/groups/{split}/{step}/{prompt_no}")
        )

    def completion(self, id: str, split: str, step: int, prompt_no: int, sample_no: int) -> Completion:
        path = f"/jobs/{id}/completions/{split}/{step}/{prompt_no}/{sample_no}"
        return Completion.model_validate(self._transport.get(path))

    def checkpoints(self, id: str) -> Sequence[Checkpoint]:
        page = self._transport.get(f"/jobs/{id}/checkpoints")
        return [Checkpoint.model_validate(item) for item in page["data"]]

    def download_checkpoint(
        self, id: str, step: int, to: str | Path, *, progress: Progress | None = None
    ) -> Path:
        """Write a checkpoint's `.tar.gz` to the file `to`."""
        return save(self._transport, f"/jobs/{id}/checkpoints/{step}/download", to, progress=progress)

    def extract_checkpoint(self, id: str, step: int, to: str | Path) -> Path:
        """Download and unpack a checkpoint into the folder `to`, which `PeftModel.from_pretrained` loads."""
        return extract(self._transport, f"/jobs/{id}/checkpoints/{step}/download", to)

    def pick_checkpoint(self, id: str, which: Which = "best") -> Checkpoint:
        """Best or final checkpoint of a succeeded job.

        Raises StateConflict `no_adapter`, or `no_better_checkpoint` if none is better than the base model.
        """
        return pick_checkpoint(self.get(id), self.checkpoints(id), which)

    def download_adapter(
        self, id: str, to: str | Path, *, which: Which = "best", progress: Progress | None = None
    ) -> Path:
        """Download the best or final checkpoint as a `.tar.gz`. Raises the errors of `pick_checkpoint`."""
        return save(self._transport, f"/jobs/{id}/adapter/download?which={which}", to, progress=progress)

    def extract_adapter(self, id: str, to: str | Path, *, which: Which = "best") -> Path:
        """Unpack the best or final checkpoint into a folder. Raises the errors of `pick_checkpoint`."""
        return extract(self._transport, f"/jobs/{id}/adapter/download?which={which}", to)

    def logs(self, id: str, *, after: int = 0, limit: int = 1000) -> Sequence[LogEntry]:
        page = self._transport.get(f"/jobs/{id}/logs", after=after, limit=limit)
        return [LogEntry.model_validate(line) for line in page["data"]]

    def findings(self, id: str) -> Sequence[FindingEntry]:
        """Problems of the job, the most important first, with evidence and remedies."""
        page = self._transport.get(f"/jobs/{id}/findings")
        return [FindingEntry.model_validate(item) for item in page["data"]]

    def apply_remedy(self, id: str, remedy: Remedy) -> JobDetail:
        """Apply a finding's remedy: change the running job, fork it, or cancel it to use a checkpoint.

        Returns the new job for a fork, else this one.
        """
        if remedy.kind == "fork":
            return self.fork(id, step=remedy.step, set=remedy.set)
        if remedy.kind == "stop_and_take":
            job = self.get(id)
            ends = job.status in FINAL or job.status == JobStatus.CANCELLING
            return job if ends else self.cancel(id)
        for setting, value in remedy.set.items():
            self.change_setting(id, setting, value)
        return self.get(id)

    def training_check(self, id: str) -> JobTrainingCheck:
        """Check if the job is learning, with evidence and advice."""
        return JobTrainingCheck.model_validate(self._transport.get(f"/jobs/{id}/training-check"))

    def export(self, id: str, to: str | Path, *, samples: int = 8) -> Path:
        """Write the job as one HTML file. samples: number of prompts whose completions it contains."""
        return save(self._transport, f"/jobs/{id}/report?samples={samples}", to)

    def card(
        self, id: str, *, step: int | None = None, slice: str | None = None, require: str | None = None
    ) -> ReportCard:
        """Report card: base, parent and adapter on held-out rows. Its `requirement` says if the conditions
        `require`, such as `held_out_gain>0.02`, are met.
        """
        query = {"step": step, "slice": slice, "require": require}
        return ReportCard.model_validate(self._transport.get(f"/jobs/{id}/card", **query))

    def card_manifest(self, id: str, *, step: int | None = None) -> CardManifest:
        """SHA-256 of the card's files, signed by the installation."""
        answer = self._transport.get(f"/jobs/{id}/card", step=step, format="manifest")
        return CardManifest.model_validate(answer)

    def save_card(
        self,
        id: str,
        to: str | Path,
        *,
        format: CardFormat = "html",
        step: int | None = None,
        slice: str | None = None,
        require: str | None = None,
    ) -> Path:
        query = {"format": format, "step": step, "slice": slice, "require": require}
        text = urlencode({name: value for name, value in query.items() if value is not None})
        return save(self._transport, f"/jobs/{id}/card?{text}", to)

    def bundle(self, id: str, to: str | Path, *, rows: bool = True, completions: bool = True) -> Path:
        """Write everything needed to repeat an ended job to the file `to`, for `reinforge reproduce`."""
        query = f"rows={str(rows).lower()}&completions={str(completions).lower()}"
        return save(self._transport, f"/jobs/{id}/bundle?{query}", to)

    def traces(self, id: str, min_reward: float, **selection: Any) -> Dataset:
        """Make a dataset of the best completions of every prompt.

        Selection: split, first_step, last_step, per_prompt, truncated, limit, name.
        """
        body = TraceSelection(min_reward=min_reward, **selection).model_dump(mode="json")
        return Dataset.model_validate(
            self._transport.post(f"/jobs/{id}/traces", body, at_least=WORKER_SECONDS)
        )

    def share(self, id: str, *, samples: int = 0, expires_in_days: int | None = None) -> JobShareCreated:
        """Create a link that shows the job without sign-in; only this response has its `url`."""
        body = {"samples": samples, "expires_in_days": expires_in_days}
        return JobShareCreated.model_validate(self._transport.post(f"/jobs/{id}/shares", body))

    def shares(self, id: str) -> builtins.list[JobShare]:
        answer = self._transport.get(f"/jobs/{id}/shares")
        return JobShareList.model_validate(answer).data

    def revoke_share(self, id: str, share_id: str) -> None:
        self._transport.delete(f"/jobs/{id}/shares/{share_id}")

    def labels(self, id: str) -> builtins.list[LabelView]:
        return LabelList.model_validate(self._transport.get(f"/jobs/{id}/labels")).data

    def label(self, id: str, labels: Sequence[LabelCreate]) -> builtins.list[LabelView]:
        """Mark completions as right or wrong; the last label counts, `right=None` removes it."""
        body = {"labels": [label.model_dump(mode="json") for label in labels]}
        return LabelList.model_validate(self._transport.post(f"/jobs/{id}/labels", body)).data

    def calibration(self, id: str, *, reward: str | None = None) -> Calibration:
        """Agreement of a reward with the labels, and completions to label next."""
        return Calibration.model_validate(self._transport.get(f"/jobs/{id}/calibration", reward=reward))

    def wait(self, id: str, *, timeout: float | None = None, poll: float = 1.0) -> JobDetail:
        """Wait until the job is finished or paused. Raises TimeoutError after `timeout` seconds."""
        deadline, outage = None if timeout is None else time.monotonic() + timeout, Outage()
        while True:
            job = JobDetail.model_validate(
                self._transport.get_through_outage(f"/jobs/{id}", outage, deadline)
            )
            if job.status in RESTS:
                return job
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"{id} is still {job.status} after {timeout:.0f} s")
            time.sleep(poll)

    def stream(self, id: str, *, after: int = 0) -> Iterator[JobEvent]:
        """Live events with `seq` > `after`, each once and sorted, until the job is finished or paused."""
        failures, outage = 0, Outage()
        while True:
            try:
                for batch in self._connect(id, after):
                    outage.end()
                    failures = 0 if batch else failures
                    for event in batch:
                        if event.seq > after:
                            after = event.seq
                            yield event
            except (httpx.TransportError, StreamRefused) as error:
                answer = error.answer if isinstance(error, StreamRefused) else None
                wait = retry_wait(failures, answer) if failures < self._transport.retries else None
                if wait is None:
                    if answer is not None:
                        raise error_from(answer) from None
                    raise self._transport.unreachable(error) from None
                failures += 1
                time.sleep(wait)
            job = JobDetail.model_validate(self._transport.get_through_outage(f"/jobs/{id}", outage))
            if job.status in RESTS:
                for event in self._remaining_events(id, after):
                    yield event
                return

    def _connect(self, id: str, after: int) -> Iterator[Sequence[JobEvent]]:
        headers = {"accept": "text/event-stream", "last-event-id": f"{id}:{after}"}
        timeout = httpx.Timeout(45.0, connect=5.0)  # the server sends a comment every 15 s
        with self._transport.http.stream(
            "GET", f"/jobs/{id}/stream", params={"after": after}, headers=headers, timeout=timeout
        ) as response:
            if response.status_code >= 400:
                response.read()
                raise StreamRefused(response)
            yield []  # it is open
            for frame in EventSource(response).iter_sse():
                if frame.event == "batch":
                    events = [JobEvent.model_validate(e) for e in frame.json()["events"]]
                    yield events
                    if any(e.type == "status" and e.data.get("status") in RESTS for e in events):
                        return

    def _remaining_events(self, id: str, after: int) -> Iterator[JobEvent]:
        while True:
            page = self._transport.get(f"/jobs/{id}/events", after=after, limit=500)
            for item in page["data"]:
                event = JobEvent.model_validate(item)
                after = max(after, event.seq)
                yield event
            if len(page["data"]) < 500:
                return

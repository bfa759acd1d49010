"""Tokens per second of both rollout engines at batches of 1 to 256, and how long a new adapter takes to reach them.

    benchmarks/engines.py [--model starter|random] [--rounds 3] [--picture FOLDER] [--json OUT] [--quick]

transformers is the trainer's own process, with the copies of it that a job would have here, vLLM a server beside it,
started as a job starts it (`make vllm` installs it; without it one column stays open). Each sampling is what a step's
is: up to 8 completions per prompt, an adapter of rank 16 that has moved away from the base, temperature 1, with log-
probabilities, float32; every completion has all its tokens, because nothing ends it. Before each sampling another
version of the adapter is published, so that no prompt is known from the one before; the time of that is the sync time
(transformers has the adapter already: what it does about it belongs to its sampling, but for the way to its copies).
The engines take turns; the first sampling of each does not count.

`starter`: the starter model, prompts of the demo, 56 tokens. `random`: 42 million parameters, prompts of 64 tokens,
completions of 128.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from common.measure import RESULTS, ROOT, alternate, machine, median, parser, table, write
from common.panels import Panel, drawn
from common.random_model import make, prompts
from transformers import AutoTokenizer

from reinforge.offline.train import model_folder
from reinforge.spec import JobSpec
from worker.machine.cpu_share import set_threads
from worker.machine.vllm_python import vllm_missing, vllm_python, vllm_version
from worker.policy.host import LocalHost
from worker.policy.load import load_base_model
from worker.policy.lora import LoraPolicy
from worker.rollout.engine import GenerateRequest, NoiseKey, RolloutEngine, Sampling
from worker.rollout.noise import Stream
from worker.rollout.text import Text
from worker.rollout.vllm.engine import VllmEngine
from worker.rollout.vllm.server import VllmServer
from worker.trainer.engines import own_engine
from worker.trainer.vllm_engine import options as server_options

T = TypeVar("T")
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
GROUP = 8
POLICY = "policy"
TOKENS = {"starter": 56, "random": 128}
PROMPT_TOKENS = 64
"""Of the random model."""


@dataclass(frozen=True, slots=True)
class Sampled:
    seconds: float
    sync_seconds: float
    tokens: int

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds


@dataclass(slots=True)
class Side:
    """An engine and what it measured."""

    engine: RolloutEngine
    runs: dict[int, list[Sampled]] = field(default_factory=dict)
    """By batch."""

    @property
    def sync_seconds(self) -> list[float]:
        return [run.sync_seconds for runs in self.runs.values() for run in runs]


class Bench:
    """A model with an adapter, and requests for it."""

    def __init__(self, model: Path, texts: Sequence[str], tokens: int) -> None:
        self.model, self.tokens = model, tokens
        self.base = load_base_model(model)
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.text = Text(self.tokenizer)
        threads = set_threads(self.base.model.config.get_text_config().hidden_size)
        self.host = LocalHost(self.base, threads)
        self.policy: LoraPolicy = self.host.create_policy(
            POLICY, rank=16, alpha=32, targets="all-linear", seed=0
        )
        self.prompts = [tuple(self.tokenizer(text)["input_ids"]) for text in texts]
        self.loop = asyncio.new_event_loop()
        self.version = 0

    @property
    def longest(self) -> int:
        return max(map(len, self.prompts)) + self.tokens

    def move(self) -> None:
        """Another version of the adapter."""
        self.version += 1
        generator = torch.Generator().manual_seed(self.version)
        with torch.no_grad():
            for name, parameter in self.base.model.named_parameters():
                if "lora_B" in name:
                    parameter.copy_(0.02 * torch.randn(parameter.shape, generator=generator))

    def requests(self, batch: int) -> list[GenerateRequest]:
        """For `batch` completions, up to `GROUP` of each prompt."""
        sampling = Sampling(self.tokens, 1.0)
        return [
            GenerateRequest(
                POLICY,
                self.version,
                self.prompts[number % len(self.prompts)],
                min(GROUP, batch),
                sampling,
                NoiseKey(0, Stream.TRAIN, self.version, number),
                number,
            )
            for number in range(max(1, batch // GROUP))
        ]

    def sample(self, side: Side, batch: int) -> Sampled:
        """Publish another version and sample from it."""
        self.move()
        began = time.perf_counter()
        self.run(side.engine.publish(POLICY, self.version))
        synced = time.perf_counter()
        tokens = self.run(self._collect(side.engine, self.requests(batch)))
        if tokens != batch * self.tokens:
            raise RuntimeError(f"{tokens} tokens instead of {batch} × {self.tokens}")
        return Sampled(time.perf_counter() - synced, synced - began, tokens)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @staticmethod
    async def _collect(engine: RolloutEngine, requests: Sequence[GenerateRequest]) -> int:
        return sum(
            [len(sample.token_ids) async for answer in engine.generate(requests) for sample in answer.samples]
        )


@contextmanager
def sides(bench: Bench, folder: Path) -> Iterator[dict[str, Side]]:
    """By name; without vLLM where it is not installed. `folder`: for the server's log."""
    own = own_engine(max(BATCHES) // GROUP, GROUP, bench.base, bench.text, bench.host, bench.policy, print)
    named_sides = {"transformers": Side(own)}
    python = vllm_python()
    if python is None:
        print(f"vLLM is left out: {vllm_missing()}")
    else:
        largest = max(BATCHES)
        job = JobSpec.model_validate(
            {
                "model": str(bench.model),
                "data": {"dataset": "none"},
                "rewards": [{"type": "python", "name": "none", "source": "def grade(sample, item): ..."}],
                "rollout": {"prompts_per_step": largest // GROUP, "completions_per_prompt": GROUP, "engine": "vllm"},
            }
        )  # fmt: skip
        options = server_options(job, bench.base, bench.model, bench.longest)
        server = VllmServer(python, options, folder / "vllm.log", notify=print)
        named_sides["vllm"] = Side(
            VllmEngine(server, lambda _, target: bench.policy.export(target, base_model="measured"))
        )
    try:
        yield named_sides
    finally:
        for side in named_sides.values():
            bench.run(side.engine.close())


def measure(bench: Bench, batches: Sequence[int], rounds: int) -> dict[str, Side]:
    """Both engines after one sampling that does not count, in turns at each batch."""
    with tempfile.TemporaryDirectory() as folder, sides(bench, Path(folder)) as named_sides:
        for side in named_sides.values():
            bench.sample(side, min(GROUP, max(batches)))
        for batch in batches:
            takes = [partial(bench.sample, side, batch) for side in named_sides.values()]
            if len(takes) == 2:
                runs = list(zip(*alternate(rounds, *takes), strict=True))
            else:
                runs = [tuple(takes[0]() for _ in range(rounds))]
            for side, own in zip(named_sides.values(), runs, strict=True):
                side.runs[batch] = list(own)
    return named_sides


def summary(named_sides: dict[str, Side]) -> dict[str, Any]:
    """Medians of tokens per second by batch, vLLM's over transformers', medians of the sync times, and every run."""
    batches = []
    for batch in next(iter(named_sides.values())).runs:
        rates = {name: median([run.rate for run in side.runs[batch]]) for name, side in named_sides.items()}
        ratio = rates["vllm"] / rates["transformers"] if "vllm" in rates else None
        batches.append({"batch": batch, "tokens_per_s": rates, "ratio": ratio})
    return {
        "batches": batches,
        "sync_seconds": {name: median(side.sync_seconds) for name, side in named_sides.items()},
        "runs": {
            name: {str(batch): [asdict(run) for run in runs] for batch, runs in side.runs.items()}
            for name, side in named_sides.items()
        },
    }


def show(result: dict[str, Any]) -> None:
    rows = []
    for batch in result["batches"]:
        rates = batch["tokens_per_s"]
        rows.append((batch["batch"], rates["transformers"], rates.get("vllm", "–"), batch["ratio"] or "–"))
    table(("completions at once", "transformers, tokens/s", "vLLM, tokens/s", "vLLM ÷ transformers"), rows)
    texts = ", ".join(f"{name} {1000 * seconds:.2g} ms" for name, seconds in result["sync_seconds"].items())
    print(f"\nA new adapter: {texts} (median)")


def picture(result: dict[str, Any]) -> str:
    batches = result["batches"]
    lines = {
        name: [(float(batch["batch"]), batch["tokens_per_s"][name]) for batch in batches]
        for name in result["sync_seconds"]
    }
    return drawn("Tokens per second", [Panel("completions at once", lines)])


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--model", choices=tuple(TOKENS), default="starter")
    options.add_argument("--rounds", type=int, default=3, help="samplings of each engine at each batch")
    options.add_argument("--picture", type=Path, default=RESULTS, metavar="FOLDER")
    options.add_argument("--json", type=Path, metavar="OUT", help="also write the result there")
    arguments = options.parse_args()
    batches, rounds = ((1, 8), 1) if arguments.quick else (BATCHES, arguments.rounds)
    about = machine("reinforge", "torch", "transformers", "peft")
    about["versions"]["vllm"] = vllm_version() or "none"
    with tempfile.TemporaryDirectory() as folder:
        if arguments.model == "random":
            model, texts = Path(folder) / "model", prompts(32, PROMPT_TOKENS)
            make(model)
        else:
            lines = (ROOT / "examples" / "arithmetic" / "additions.jsonl").read_text(encoding="utf-8")
            rows = [json.loads(line) for line in lines.splitlines()[:32]]
            model, texts = model_folder("starter-arith"), [row["messages"][0]["content"] for row in rows]
        bench = Bench(model, texts, TOKENS[arguments.model])
        result = {"machine": about, "model": arguments.model, "threads": torch.get_num_threads()}
        result |= summary(measure(bench, batches, rounds))
    show(result)
    name = f"engines-{arguments.model}" + ("-quick" if arguments.quick else "")
    write(name, result, depth=4)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result), encoding="utf-8")
    arguments.picture.mkdir(exist_ok=True)
    (arguments.picture / f"{name}.svg").write_text(picture(result), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Section `sampling`: the engine `transformers`, by the number of rows decoded together."""

import time
from collections.abc import Iterator

import torch

from common.gpu.job import no_vllm
from common.gpu.models import Trainable, sequences, trainable
from common.gpu.rows import Row, Setting, figure, of_gpu, waiting
from worker.rollout.decoder import Decoder
from worker.rollout.decoding import DecodeBatch, Part
from worker.rollout.engine import GenerateRequest, NoiseKey, Sampling
from worker.rollout.noise import Stream

ROWS, PER_PROMPT = (8, 128, 512), 8
TOKENS, WARM = 16, 4
PROMPT = 512
PARTS = ("one token of each", "sampling")


def names() -> list[str]:
    return [label + part for label in map(_label, ROWS) for part in PARTS]


def run(setting: Setting) -> Iterator[Row]:
    if setting.whole and setting.device == "cuda" and no_vllm(setting) is None:
        note = "vLLM samples here, and needs the time: --only sampling"
        yield from (waiting(name, note) for name in names())
        return
    model = trainable("1.5B", setting)
    for rows in ROWS:
        decoded = PER_PROMPT if setting.tiny else rows
        seconds = _decode(model, decoded, setting)
        values = (1000 * seconds, "ms"), (decoded / seconds, "tokens/s")
        for part, (value, unit) in zip(PARTS, values, strict=True):
            yield of_gpu(figure(_label(rows) + part, value, unit), setting)


def _label(rows: int) -> str:
    return f"1.5B, engine transformers, {rows} rows: "


def _decode(model: Trainable, rows: int, setting: Setting) -> float:
    """Seconds of one decode step, prompts read before."""
    tokens = 8 if setting.tiny else TOKENS
    prompts = sequences(model.shape, rows // PER_PROMPT, 1, 24 if setting.tiny else PROMPT, 1).prompts
    sampling = Sampling(tokens + WARM, 1.0)
    parts = [
        Part(
            GenerateRequest("policy", 0, tuple(prompt), PER_PROMPT, sampling, _noise(number), number),
            0,
            PER_PROMPT,
        )
        for number, prompt in enumerate(prompts)
    ]
    with torch.inference_mode(), model.host.sampling_as("policy") as active, active():
        batch = DecodeBatch(Decoder(model.host.base.model), parts, lambda rows: ["" for _ in rows])
        for _ in range(WARM):
            batch.advance()
        setting.wait()
        began = time.perf_counter()
        for _ in range(tokens):
            batch.advance()
        setting.wait()
        return (time.perf_counter() - began) / tokens


def _noise(number: int) -> NoiseKey:
    return NoiseKey(0, Stream.TRAIN, 1, number)

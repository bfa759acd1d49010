"""CPU-only sampling: a faster decode step, and forked processes on idle cores."""

from worker.rollout.cpu.decoder import decoder_for
from worker.rollout.cpu.forked_engine import SharedWeights
from worker.rollout.cpu.parallel_engines import ParallelEngines, process_count, with_forks

__all__ = ["ParallelEngines", "SharedWeights", "decoder_for", "process_count", "with_forks"]

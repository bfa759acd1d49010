import type { Job, JobStatus } from "@/api/jobs";
import { count } from "@/lib/format";

/** Codes of `reason` and of errors: a title, and a sentence where no error brings its own. */
export const REASONS: Record<string, readonly [title: string, text?: string]> = {
  reward_errors: ["the reward fails too often"],
  pause_requested: ["on request"],
  pause_overdue: ["the trainer was stopped"],
  out_of_memory: ["out of memory"],
  worker_lost: ["its workers were lost", "The worker stopped responding more than once."],
  lease_lost: [
    "its worker was lost",
    "The worker stopped responding; another worker continues from the last state.",
  ],
  disk_full: ["the worker's disk is full"],
  storage_unavailable: ["files are not accessible"],
  sandbox_unavailable: ["the reward sandbox does not start"],
  package_missing: ["a package is not installed on the worker"],
  package_broken: ["a package does not work on the worker"],
  model_load_failed: ["the model does not load"],
  model_too_demanding: ["the chat template or tokenizer exceeds its limits"],
  prompt_not_renderable: ["the chat template or tokenizer fails"],
  model_changed: ["the model files changed"],
  data_error: ["a row of the dataset cannot be used"],
  delivery_failed: ["results cannot be delivered"],
  resume_state_invalid: ["the resume state is damaged"],
  trainer_failed: ["the trainer stopped"],
  trainer_stopped: ["the trainer stopped"],
  trainer_crashed: ["the trainer crashed"],
  killed: ["the trainer was killed by the system"],
  gpu_unavailable: ["the worker cannot open the GPU"],
  too_few_devices: ["the worker has fewer devices than the job needs"],
  rank_lost: ["a process on one of its devices was lost"],
  engine_missing: ["the worker has no vLLM"],
  sharding_unsupported: ["the base model cannot be divided"],
  nf4_unavailable: ["bitsandbytes does not work on the worker"],
  vllm_needs_compiler: ["vLLM needs a compiler on the worker"],
  gpu_memory_short: ["the GPU has too little memory for vLLM"],
  impossible_placement: ["the GPUs cannot be divided as configured"],
  vllm_start_failed: ["vLLM does not start"],
  vllm_lost: ["vLLM stopped twice"],
  vllm_refused: ["vLLM refused the adapter or a request"],
  sampler_mismatch: ["vLLM and the trainer disagree"],
  adapter_not_applied: ["vLLM ignores the adapter"],
  gradient_not_finite: ["the gradient is not finite"],
  invalid_adapter: ["the adapter cannot be loaded"],
  preparation_failed: ["the job could not be prepared"],
  time_limit: [
    "its time limit was reached",
    "limits.max_seconds was reached; the adapter is from the last step.",
  ],
  held_out_flat: [
    "held-out reward stopped rising",
    "The last limits.early_stop.patience evaluations were no better than the best.",
  ],
  no_signal: [
    "no training signal left",
    "For limits.early_stop.no_signal_steps steps nearly all rewards within groups were equal.",
  ],
  no_checkpoint: ["no adapter"],
  rolled_back: [
    "rolled back by the diagnosis",
    "A worker continues from the step saved before the finding, with a lower learning rate.",
  ],
  diagnosis: ["by the diagnosis, as set in its specification"],
};

const STATUS: Partial<Record<JobStatus, string>> = {
  failed: "Failed",
  paused: "Paused",
  succeeded: "Ended early",
  queued: "Queued again",
  cancelling: "Cancelling",
  cancelled: "Cancelled",
};

/** States whose reason is a notice. */
export const isStopped = (status: JobStatus) => status === "failed" || status === "paused";

/** "Paused: the reward fails too often"; a code that is not known is read as words. */
export function sayReason(status: JobStatus, code: string | null | undefined): string {
  const head = STATUS[status] ?? "Problem";
  return code ? `${head}: ${REASONS[code]?.[0] ?? code.replaceAll("_", " ")}` : head;
}

type Story = { title: string; text: string; command?: string; stuck: boolean };

/** Why a job waits for a worker, and until when. Null while that is not known. */
export function queueStory(
  job: Pick<Job, "attempt">,
  place: NonNullable<Job["queue"]> | null | undefined,
): Story | null {
  if (!place) return null;
  const again =
    (job.attempt > 1 ? " It continues from its last state." : "") + (place.notice ? ` ${place.notice}` : "");
  if (place.reason === "no_worker") {
    return {
      title: "No worker is online",
      text: `The job waits for a worker.${again} “reinforge up” starts one with the server. To start another, set REINFORGE_URL and the REINFORGE_WORKER_TOKEN of the server and run:`,
      command: "python -m worker",
      stuck: true,
    };
  }
  if (place.reason === "about_to_start") {
    return { title: "Next in the queue", text: `A free worker will start it shortly.${again}`, stuck: false };
  }
  const before = place.position > 1 ? `${count(place.position - 1, "job")} ahead; projects take turns. ` : "";
  const who = place.workers === 1 ? "The worker is" : `All ${place.workers} workers are`;
  return {
    title: place.position > 1 ? `Number ${place.position} of ${place.of} in the queue` : "Next in the queue",
    text: `${before}${who} busy: waiting for a free worker.${again}`,
    stuck: false,
  };
}

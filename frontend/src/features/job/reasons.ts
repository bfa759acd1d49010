import type { Job, JobStatus } from "@/api/jobs";
import { count } from "@/lib/format";

/** Codes of `reason` and of errors: a title, and a sentence where no error brings its own. */
export const REASONS: Record<string, readonly [title: string, text?: string]> = {
  reward_errors: ["the reward fails too often"],
  pause_requested: ["on request"],
  pause_overdue: ["the trainer had to be ended"],
  out_of_memory: ["out of memory"],
  worker_lost: ["its workers were lost", "The worker stopped answering, more than once."],
  lease_lost: [
    "its worker was lost",
    "The worker stopped answering; another one goes on from the last state.",
  ],
  disk_full: ["the worker's disk is full"],
  storage_unavailable: ["files cannot be reached"],
  sandbox_unavailable: ["the reward's sandbox does not start"],
  package_missing: ["a package is not installed on the worker"],
  package_broken: ["a package does not work on the worker"],
  model_load_failed: ["the model does not load"],
  model_too_demanding: ["the model's template or tokenizer needs too much"],
  prompt_not_renderable: ["the model's template or tokenizer fails"],
  model_changed: ["the model's files changed"],
  data_error: ["a row of the dataset cannot be used"],
  delivery_failed: ["results cannot be delivered"],
  resume_state_invalid: ["the state to go on from is damaged"],
  trainer_failed: ["the trainer stopped"],
  trainer_stopped: ["the trainer stopped"],
  trainer_crashed: ["the trainer crashed"],
  killed: ["the trainer was killed from outside"],
  gpu_unavailable: ["its worker cannot open the GPU"],
  engine_missing: ["its worker has no vLLM"],
  vllm_needs_compiler: ["vLLM needs a compiler on its worker"],
  gpu_memory_short: ["the GPU has too little memory for vLLM"],
  impossible_placement: ["the GPUs cannot be divided like this"],
  vllm_start_failed: ["vLLM does not start"],
  vllm_lost: ["vLLM stopped twice"],
  vllm_refused: ["vLLM refused the adapter or a request"],
  sampler_mismatch: ["vLLM and the trainer disagree"],
  adapter_not_applied: ["vLLM leaves the adapter out"],
  gradient_not_finite: ["the gradient is not finite"],
  invalid_adapter: ["the adapter cannot be loaded"],
  preparation_failed: ["the job could not be prepared"],
  time_limit: [
    "its time was over",
    "limits.max_seconds had passed; the adapter is what it had learned by then.",
  ],
  held_out_flat: [
    "the held-out reward rose no more",
    "As many evaluations in a row as limits.early_stop.patience says were no better than the best one.",
  ],
  no_signal: [
    "completions taught nothing more",
    "Within a group nearly all rewards were alike, over as many steps as limits.early_stop.no_signal_steps says.",
  ],
  no_checkpoint: ["there is no adapter"],
};

const STATUS: Partial<Record<JobStatus, string>> = {
  failed: "Failed",
  paused: "Paused",
  succeeded: "Ended early",
  queued: "Queued again",
};

/** States whose reason is told as a notice. */
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
    (job.attempt > 1 ? " It goes on from its last state." : "") + (place.notice ? ` ${place.notice}` : "");
  if (place.reason === "no_worker") {
    return {
      title: "No worker is online",
      text: `The job waits until one is.${again} “reinforge up” starts one with the server. Another one, with REINFORGE_URL and the server's REINFORGE_WORKER_TOKEN set:`,
      command: "python -m worker",
      stuck: true,
    };
  }
  if (place.reason === "about_to_start") {
    return { title: "Next in line", text: `A free worker takes it in a moment.${again}`, stuck: false };
  }
  const before =
    place.position > 1 ? `${count(place.position - 1, "job")} before it; projects take turns. ` : "";
  const who = place.workers === 1 ? "The worker is" : `All ${place.workers} workers are`;
  return {
    title: place.position > 1 ? `Number ${place.position} of ${place.of} in line` : "Next in line",
    text: `${before}${who} at other jobs; ${place.position > 1 ? "its turn comes when they end" : "this one starts when one ends"}.${again}`,
    stuck: false,
  };
}

/** Statuses of a scored completion in words. The same list as the sandbox's. */
type Words = { word: string; meaning: string };

const STATUSES: Record<string, Words> = {
  ok: { word: "scored", meaning: "" },
  not_applicable: {
    word: "not applicable",
    meaning: "The reward returned None: this completion is excluded from the statistics.",
  },
  exception: {
    word: "raised an exception",
    meaning: "In a job this completion gets no score and is removed from its group.",
  },
  bad_value: {
    word: "returned an invalid value",
    meaning: "A reward returns a finite number, None, or a mapping with score, reason and parts.",
  },
  timeout: { word: "timed out", meaning: "Stopped at the time limit per completion." },
  cpu_limit: { word: "CPU limit exceeded", meaning: "Stopped at the CPU limit." },
  memory: { word: "out of memory", meaning: "Stopped at the memory limit of the sandbox." },
  crashed: { word: "crashed", meaning: "The Python process ended by a signal." },
  exited: { word: "exited", meaning: "The code exited its process; return a score instead." },
  output_flood: { word: "output limit exceeded", meaning: "Stopped because of too much output." },
  deadline: {
    word: "not run in time",
    meaning: "Earlier completions used up the time of the whole run.",
  },
  skipped: { word: "skipped", meaning: "An earlier completion ended the process; run it again." },
  load_error: { word: "not loaded", meaning: "The source could not be loaded." },
  sandbox_error: { word: "sandbox failed", meaning: "This is an error of the platform, not of the reward." },
};

export const statusWords = (status: string): Words => STATUSES[status] ?? { word: status, meaning: "" };

const AT_ONCE: Record<string, string> = {
  sample: "one completion at a time",
  group: "a prompt's completions together",
  batch: "the whole batch together",
};

/** What a reward sees at once, by its granularity. */
export const atOnce = (granularity: string): string => AT_ONCE[granularity] ?? granularity;

/** Statuses of a scored completion in words. The same list as the sandbox's. */
type Words = { word: string; meaning: string };

const STATUSES: Record<string, Words> = {
  ok: { word: "scored", meaning: "" },
  not_applicable: {
    word: "not applicable",
    meaning: "The reward returned None: this completion stays out of the statistics, on purpose.",
  },
  exception: {
    word: "raised an exception",
    meaning: "In a job this completion gets no score and leaves its group.",
  },
  bad_value: {
    word: "returned no usable value",
    meaning: "A reward returns a finite number, None, or a mapping with score, reason and parts.",
  },
  timeout: { word: "took too long", meaning: "It was stopped at the time limit for one completion." },
  cpu_limit: { word: "used too much CPU", meaning: "It was stopped at the CPU limit." },
  memory: { word: "ran out of memory", meaning: "It was stopped at the memory limit of the sandbox." },
  crashed: { word: "crashed", meaning: "The Python process ended by a signal." },
  exited: { word: "exited", meaning: "The code ended its process; return a score instead." },
  output_flood: { word: "printed too much", meaning: "It was stopped because of its output." },
  deadline: {
    word: "not reached in time",
    meaning: "Earlier completions used up the time of the whole run.",
  },
  skipped: { word: "skipped", meaning: "An earlier completion ended the process; run it again." },
  load_error: { word: "not loaded", meaning: "The source could not be loaded." },
  sandbox_error: { word: "sandbox failed", meaning: "This is a fault of the platform, not of the reward." },
};

export const statusWords = (status: string): Words => STATUSES[status] ?? { word: status, meaning: "" };

const AT_ONCE: Record<string, string> = {
  sample: "one completion at a time",
  group: "a prompt's completions together",
  batch: "the whole batch together",
};

/** What a reward sees at once, by its granularity. */
export const atOnce = (granularity: string): string => AT_ONCE[granularity] ?? granularity;

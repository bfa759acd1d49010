import type { Sweep } from "@/api/sweeps";

export const METHODS: Record<string, string> = {
  grid: "Grid",
  random: "Random",
  tpe: "TPE",
  cma_es: "CMA-ES",
  ladder: "Ablation ladder",
};

const REASONS: Record<string, string> = {
  budget_jobs: "Its budget of jobs is used up.",
  budget_seconds: "Its budget of workers' time is used up.",
  budget_money: "Its budget of money is used up.",
  first_trials_failed: "Its first jobs failed without a single evaluation.",
};

/** Why it ended before all its jobs had run. */
export const reasonOf = (reason: string | null): string | null =>
  reason ? (REASONS[reason] ?? reason) : null;

export const startedOf = ({ counts }: Pick<Sweep, "counts">): number =>
  Object.entries(counts).reduce((sum, [status, count]) => (status === "skipped" ? sum : sum + count), 0);

/** A grader as its form or its JSON alone; by default both stand beside each other. */
export type GraderView = "form" | "json";

/** State of a reward's page in its address. */
export type RewardPlace = {
  tab?: "golden" | "replay" | "revisions" | "jobs";
  /** The revision that is read, and the one it is compared with. */
  revision?: number;
  against?: number;
  /** What it is tried on: a dataset, and rows as in `rowsOf`. "none" is a row written by hand. */
  dataset?: string;
  rows?: string;
  grader?: GraderView;
  /** The job whose completions are scored again, and the replay that is read. */
  job?: string;
  replay?: string;
};

export type OnPlace = (change: Partial<RewardPlace>) => void;

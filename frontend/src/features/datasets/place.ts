/** State of a dataset's page in its address. */
export type DatasetPlace = {
  tab?: "prompts" | "report" | "jobs";
  /** First row shown, from 0. */
  offset?: number;
  /** The row in the panel, from 0. */
  row?: number;
  /** Of the held-out split. */
  seed?: number;
  held?: number;
  by?: "prompt";
  /** Another dataset whose prompts are compared as held out. */
  against?: string;
  /** The base model whose chat template renders. */
  model?: string;
};

export type OnPlace = (change: Partial<DatasetPlace>) => void;

/** What the address of a sweep says. */
export type SweepPlace = {
  /** Order of the table: `-objective`, or a dotted path. */
  by?: string | undefined;
};

import type { Order } from "./compare";

/** What of an evaluation is shown: another one beside it, the order of its rows, and an open row. */
export type Place = { against?: string; sorted?: Order; row?: number };

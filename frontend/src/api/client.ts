import createClient from "openapi-fetch";
import { connection } from "./connection";
import type { components, paths } from "./schema.gen";

export type Schemas = components["schemas"];

/** One problem inside a larger error: a line of a file, or a field of a specification. */
export type ErrorDetail = {
  param?: string | null;
  /** What kind of problem it is, or the id of what it is about: of a golden case. */
  code?: string | null;
  line?: number | null;
  column?: number | null;
  message: string;
  /** The line around the fault. */
  excerpt?: string | null;
  /** Where the fault is in `excerpt`, from 0. */
  caret?: number | null;
};

/** A failed request: the server's error envelope, or a substitute if no server answered. */
/** How many rows of a refused file are bad; `errors` lists the first faults. */
export type FileFaults = { bad_rows: number; good_rows: number; skippable: boolean };

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null = null,
    readonly param: string | null = null,
    readonly errors: ErrorDetail[] = [],
    readonly requestId: string | null = null,
    readonly faults: FileFaults | null = null,
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** No answer at all: the network or the server is away. */
  get offline(): boolean {
    return this.status === 0;
  }
}

export const OFFLINE = new ApiError(
  0,
  "offline",
  "The server does not respond.",
  "Check that `reinforge up` is running and that this machine can reach it.",
);

/** The error of a response that is not 2xx, whatever its body is. */
export function toApiError(status: number, body: unknown): ApiError {
  const error = (body as { error?: Record<string, unknown> } | null)?.error;
  if (!error || typeof error.message !== "string") {
    return new ApiError(status, "unexpected", `The server returned status ${status} without a message.`);
  }
  return new ApiError(
    status,
    String(error.code ?? "unexpected"),
    error.message,
    (error.hint as string) ?? null,
    (error.param as string) ?? null,
    (error.errors as ErrorDetail[]) ?? [],
    (error.request_id as string) ?? null,
    (error.faults as FileFaults) ?? null,
  );
}

/** `fetch` whose network failure is an `ApiError` too. */
export async function reach(request: Request | string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(request, init);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    connection.lost();
    throw OFFLINE;
  }
}

/** The header of an edit: which state of the thing it was made from. */
export const madeFrom = (etag: string) => ({ "if-match": etag });

export const http = createClient<paths>({ baseUrl: "/", credentials: "same-origin", fetch: reach });

/** The data of a response, or its `ApiError` thrown. */
export async function unwrap<T>(
  answer: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok) throw toApiError(response.status, error);
  return data as T;
}

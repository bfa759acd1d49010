import { ApiError, http, type Schemas, unwrap } from "./client";
import { answers } from "./connection";
import { sendBytes, type UploadProgress } from "./upload";

type Dataset = Schemas["Dataset"];
type PartUpload = Schemas["DatasetUpload"];

/** Files above this go in parts: 64 MiB. */
export const LARGE_BYTES = 64 * 1024 * 1024;
/** The reason of an abort after which what has arrived is not wanted any more. */
export const CANCELLED = "cancelled";
const PAUSE_MS = 2_000;

export type PartsProgress = UploadProgress & {
  /** No connection: it continues by itself once there is one. */
  waiting: boolean;
};

/** Where the unfinished upload of a file is remembered: by what a browser knows of it without reading it. */
const placeOf = (file: File) => `upload ${file.name} ${file.size} ${file.lastModified}`;

/**
 * Sends a large file in parts. What has arrived is not sent again: neither after a pause without network, nor when the
 * same file is chosen again later, in another tab or after a reload.
 *
 * @throws ApiError when it is refused; DOMException `AbortError` or the reason when `signal` aborts.
 */
export async function sendInParts(
  file: File,
  tell: (progress: PartsProgress) => void,
  signal: AbortSignal,
  skipBadRows = false,
): Promise<Dataset> {
  let sent = 0;
  const progress = (bytes: number) => {
    sent = bytes;
    tell({ sent, total: file.size, waiting: false });
  };
  for (;;) {
    try {
      return await attempt(file, progress, signal, skipBadRows);
    } catch (error) {
      if (signal.aborted && signal.reason === CANCELLED) await cancel(file);
      if (signal.aborted || !(error instanceof ApiError)) throw error;
      if (error.status !== 0 && error.status < 500) {
        // Without the bad rows it can be completed from what has arrived.
        if (!error.faults?.skippable) localStorage.removeItem(placeOf(file));
        throw error;
      }
      tell({ sent, total: file.size, waiting: true });
      await serverBack(signal);
    }
  }
}

async function attempt(
  file: File,
  progress: (bytes: number) => void,
  signal: AbortSignal,
  skipBadRows: boolean,
): Promise<Dataset> {
  const upload = (await unfinished(file, signal)) ?? (await begin(file, signal));
  let done = upload.parts.reduce((sum, part) => sum + part.bytes, 0);
  progress(done);
  for (const number of upload.missing) {
    const part = partOf(file, upload, number);
    const sha256 = await digestOf(part);
    const address = `/api/v1/uploads/${upload.id}/parts/${number}${sha256 ? `?sha256=${sha256}` : ""}`;
    const before = done;
    // The last byte counts when the part is stored.
    const onProgress = ({ sent }: UploadProgress) => progress(before + Math.min(sent, part.size - 1));
    await sendBytes("PUT", address, part, onProgress, signal);
    done = before + part.size;
    progress(done);
  }
  const ended = await unwrap(
    http.POST("/api/v1/uploads/{id}/complete", {
      params: { path: { id: upload.id }, query: { skip_bad_rows: skipBadRows } },
      signal,
    }),
  );
  localStorage.removeItem(placeOf(file));
  if (!ended.dataset)
    throw new ApiError(409, "dataset_not_found", "The dataset was deleted during the upload.");
  return ended.dataset;
}

async function begin(file: File, signal: AbortSignal): Promise<PartUpload> {
  const body = { filename: file.name, bytes: file.size };
  const upload = await unwrap(http.POST("/api/v1/uploads", { body, signal }));
  localStorage.setItem(placeOf(file), upload.id);
  return upload;
}

/** The upload that was begun with this file, if it can go on and holds the file's own bytes. */
async function unfinished(file: File, signal: AbortSignal): Promise<PartUpload | null> {
  const id = localStorage.getItem(placeOf(file));
  if (!id) return null;
  try {
    const path = { id };
    const upload = await unwrap(http.GET("/api/v1/uploads/{id}", { params: { path }, signal }));
    if (upload.status === "completed" && upload.dataset) return upload;
    if (upload.status !== "pending") return null;
    for (const part of [upload.parts.at(0), upload.parts.at(-1)]) {
      if (!part) continue;
      const own = await digestOf(partOf(file, upload, part.number));
      if (own !== null && own !== part.sha256) return null;
    }
    return upload;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

function partOf(file: File, upload: PartUpload, number: number): Blob {
  const start = (number - 1) * upload.part_bytes;
  return file.slice(start, start + upload.part_bytes);
}

/** SHA-256 in hex; null where the browser gives it to pages over HTTPS alone. */
async function digestOf(part: Blob): Promise<string | null> {
  if (!globalThis.crypto?.subtle) return null;
  const digest = await crypto.subtle.digest("SHA-256", await part.arrayBuffer());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function cancel(file: File): Promise<void> {
  const id = localStorage.getItem(placeOf(file));
  localStorage.removeItem(placeOf(file));
  if (id) await http.POST("/api/v1/uploads/{id}/cancel", { params: { path: { id } } }).catch(() => {});
}

/** Resolves once the server answers again. */
async function serverBack(signal: AbortSignal): Promise<void> {
  do {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (signal.aborted) throw new DOMException("The upload was cancelled.", "AbortError");
  } while (!(await answers()));
}

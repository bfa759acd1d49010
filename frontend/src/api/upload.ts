import { ApiError, OFFLINE, toApiError } from "./client";

export type UploadProgress = { sent: number; total: number };

/** Sends one file as multipart form. Like `sendBytes`. */
export function sendFile<T>(
  address: string,
  file: File,
  onProgress: (progress: UploadProgress) => void,
  signal: AbortSignal,
  fields: Readonly<Record<string, string>> = {},
  part = "file",
): Promise<T> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append(part, file);
  return sendBytes<T>("POST", address, form, onProgress, signal);
}

/**
 * Sends a body and calls `onProgress` as its bytes leave: `fetch` cannot tell how many have.
 *
 * @throws ApiError when it is refused or nobody answers; DOMException `AbortError` when `signal` aborts.
 */
export function sendBytes<T>(
  method: "POST" | "PUT",
  address: string,
  content: FormData | Blob,
  onProgress: (progress: UploadProgress) => void,
  signal: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, address);
    request.setRequestHeader("accept", "application/json");
    request.upload.onprogress = ({ loaded, total }) => onProgress({ sent: loaded, total });
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status >= 200 && request.status < 300) resolve(body as T);
      else reject(toApiError(request.status, body));
    };
    // A server that refuses a file early closes the connection while the browser is still sending.
    request.onerror = () => reject(OFFLINE);
    request.ontimeout = () => reject(new ApiError(0, "timeout", "The server took too long to respond."));
    request.onabort = () => reject(new DOMException("The upload was cancelled.", "AbortError"));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    if (signal.aborted) return reject(new DOMException("The upload was cancelled.", "AbortError"));
    request.send(content);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

type Toast = {
  title?: string;
  message: string;
  autoClose: number | false;
  color: "teal" | "red";
  role?: "alert";
};

type ToastCode = typeof import("@mantine/notifications");

let loading: Promise<ToastCode> | undefined;
const listeners = new Set<() => void>();

/** The code of toasts, loaded once. */
export function toastCode(): Promise<ToastCode> {
  loading ??= import("@mantine/notifications");
  return loading;
}

/** Calls `listener` before every toast. */
export function beforeToast(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function show(toast: Toast): void {
  for (const listener of listeners) listener();
  toastCode().then(
    ({ notifications }) => notifications.show({ ...toast, withBorder: true }),
    (error) => console.error(toast.message, error),
  );
}

/** Says that something was done, where nothing else on screen shows it. Gone after four seconds. */
export function toastDone(message: string): void {
  show({ message, autoClose: 4_000, color: "teal" });
}

/** Says that something failed; stays until it is closed, because it may have to be read twice. */
export function toastFailed(title: string, error: Error & { hint?: string | null }): void {
  const message = [error.message, error.hint].filter(Boolean).join(" ");
  show({ title, message, autoClose: false, color: "red", role: "alert" });
}

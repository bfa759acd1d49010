import { notifications } from "@mantine/notifications";

/** Says that something was done, where nothing else on screen shows it. Gone after four seconds. */
export function toastDone(message: string): void {
  notifications.show({ message, autoClose: 4_000, withBorder: true, color: "teal" });
}

/** Says that something failed; stays until it is closed, because it may have to be read twice. */
export function toastFailed(title: string, error: Error & { hint?: string | null }): void {
  const message = [error.message, error.hint].filter(Boolean).join(" ");
  notifications.show({ title, message, autoClose: false, withBorder: true, color: "red", role: "alert" });
}

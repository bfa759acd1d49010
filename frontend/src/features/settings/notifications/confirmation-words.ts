import type { NotificationSettings } from "@/api/notifications";

/** Where the confirmation of the address stands, and what to do. */
export function confirmationWords({
  confirmation,
  email,
}: Pick<NotificationSettings, "confirmation" | "email">): string {
  switch (confirmation) {
    case "pending":
      return `A message with a link is on its way to ${email}.`;
    case "sent":
      return `A message was sent to ${email}. Open the link in it; this page then continues by itself.`;
    case "failed":
      return `The message to ${email} was refused. Check the address under Account.`;
    default:
      return `${email} is not confirmed yet. A message with a link confirms that it is yours.`;
  }
}

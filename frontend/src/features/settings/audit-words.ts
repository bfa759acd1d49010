/** `createApiKey` → "create api key": the operation's name as people read it. */
export function actionWords(action: string): string {
  return action.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

/** A time, of which the minute is enough. */
const SECONDS = /^(\d{4}-\d\d-\d\dT\d\d:\d\d):[\d.]+Z$/;

/** What the log kept of the thing, in a line: `ci · editor · scopes read, inference`. */
export function detailWords(details: Readonly<Record<string, unknown>> | undefined): string {
  const plain = ["name", "filename", "role", "status", "kind"];
  return Object.entries(details ?? {})
    .filter(([, value]) => value !== null && value !== "")
    .map(([key, value]) => {
      const text = Array.isArray(value) ? value.join(", ") : String(value).replace(SECONDS, "$1");
      return plain.includes(key) ? text : `${key.replaceAll("_", " ")} ${text}`;
    })
    .join(" · ");
}

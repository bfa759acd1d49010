/** Completions are strangers' text. What would be invisible, or would reorder its surroundings, is made visible. */

// C0 controls except tab and newline, DEL, C1 controls, and marks that override the direction of text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
/** Names of the control characters from 0; symbols for them are missing in many fonts. */
const NAMES =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US";
const CONTROLS = NAMES.split(" ");

function stand(char: string): string {
  const code = char.charCodeAt(0);
  return `‹${CONTROLS[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}›`;
}

/** An escape → `‹ESC›`, a direction override → `‹U+202E›`; line ends of Windows stay line ends. */
export const visible = (text: string) => text.replaceAll("\r\n", "\n").replace(HIDDEN, stand);

/** A token's text in a cell: blanks too are shown, newline as `↵` with its line break. */
export const cell = (token: string) =>
  visible(token).replaceAll(" ", "·").replaceAll("\t", "→").replaceAll("\n", "↵\n");

/** A token's text on one line, as it is named. */
export const named = (token: string) => cell(token).replaceAll("\n", "");

const LOW_SURROGATE = /^[\udc00-\udfff]/;
const JOINED = /^(?:\p{M}|\u200d|\ufe0f)/u;

/** The first `length` UTF-16 units, fewer when that would tear a character apart. */
export function head(text: string, length: number): string {
  let end = length;
  const least = Math.max(0, length - 16);
  while (
    end > least &&
    (LOW_SURROGATE.test(text.slice(end, end + 1)) || JOINED.test(text.slice(end, end + 2)))
  )
    end -= 1;
  return text.slice(0, end);
}

export type Part = { kind: "text" | "think"; text: string };

const THINK = /<think>([\s\S]*?)(<\/think>|$)/g;

/** Thinking apart from the rest; a block that was never closed ends with the text. Tags are left out. */
export function parts(text: string): Part[] {
  const pieces: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(THINK)) {
    if (match.index > from) pieces.push({ kind: "text", text: text.slice(from, match.index) });
    pieces.push({ kind: "think", text: match[1] ?? "" });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
}

export const thinks = (text: string) => text.includes("<think>");

/** Markdown of notes as data. No HTML and no images: what is no Markdown stays text. */
export type Inline =
  | { type: "text" | "code"; text: string }
  | { type: "strong" | "emphasis"; parts: Inline[] }
  | { type: "link"; href: string; parts: Inline[] };

export type Block =
  | { type: "heading"; level: number; parts: Inline[] }
  | { type: "paragraph" | "quote"; parts: Inline[] }
  | { type: "code"; text: string }
  | { type: "list"; ordered: boolean; items: Inline[][] };

const LIMIT = 20;
const INLINE =
  /`([^`\n]+)`|!?\[([^[\]\n]*)\]\(([^()\s]+)\)|\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|(https?:\/\/[^\s<>()]+[^\s<>().,;:!?])/;

/** Only addresses that open a page: no script, no data. */
export function safeHref(href: string): string | undefined {
  return /^(https?:\/\/|mailto:)/i.test(href) || /^\/(?![/\\])/.test(href) ? href : undefined;
}

export function inline(text: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  let rest = text;
  while (rest) {
    const match = depth < LIMIT ? INLINE.exec(rest) : null;
    if (!match) {
      parts.push({ type: "text", text: rest });
      break;
    }
    if (match.index > 0) parts.push({ type: "text", text: rest.slice(0, match.index) });
    const [whole, code, label, href, strong, emphasis, address] = match;
    const target = address ?? href;
    if (code !== undefined) parts.push({ type: "code", text: code });
    else if (strong !== undefined) parts.push({ type: "strong", parts: inline(strong, depth + 1) });
    else if (emphasis !== undefined) parts.push({ type: "emphasis", parts: inline(emphasis, depth + 1) });
    else if (target !== undefined && safeHref(target)) {
      const words: Inline[] = label ? inline(label, LIMIT) : [{ type: "text", text: target }];
      parts.push({ type: "link", href: target, parts: words });
    } else parts.push({ type: "text", text: whole });
    rest = rest.slice(match.index + whole.length);
  }
  return parts;
}

const FENCE = /^```/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const BULLET = /^\s*[-*+]\s+(.*)$/;
const NUMBER = /^\s*\d+[.)]\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const SPECIAL = [FENCE, HEADING, BULLET, NUMBER, QUOTE];

export function blocks(source: string): Block[] {
  const lines = source.replace(/\r\n?/g, "\n").split("\n");
  const result: Block[] = [];
  let at = 0;
  const run = (pattern: RegExp): string[] => {
    const texts: string[] = [];
    for (let match = pattern.exec(lines[at] ?? ""); match; match = pattern.exec(lines[at] ?? "")) {
      texts.push(match[1] ?? "");
      at += 1;
    }
    return texts;
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const heading = HEADING.exec(line);
    if (line.trim() === "") at += 1;
    else if (FENCE.test(line)) {
      const end = lines.findIndex((other, n) => n > at && FENCE.test(other));
      const last = end < 0 ? lines.length : end;
      result.push({ type: "code", text: lines.slice(at + 1, last).join("\n") });
      at = last + 1;
    } else if (heading) {
      result.push({ type: "heading", level: heading[1]?.length ?? 1, parts: inline(heading[2] ?? "") });
      at += 1;
    } else if (BULLET.test(line) || NUMBER.test(line)) {
      const ordered = !BULLET.test(line);
      const items = run(ordered ? NUMBER : BULLET).map((item) => inline(item));
      result.push({ type: "list", ordered, items });
    } else if (QUOTE.test(line)) {
      result.push({ type: "quote", parts: inline(run(QUOTE).join(" ")) });
    } else {
      const start = at;
      do at += 1;
      while (at < lines.length && lines[at]?.trim() && !SPECIAL.some((one) => one.test(lines[at] ?? "")));
      result.push({ type: "paragraph", parts: inline(lines.slice(start, at).join("\n")) });
    }
  }
  return result;
}

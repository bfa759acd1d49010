/** Numbers, times and sizes as the page writes them: at most three significant digits, a real minus, en-US grouping. */

const MINUS = "−";
const GAP = " ";
export const NOTHING = "–";

const minus = (text: string) => text.replaceAll("-", MINUS);

function grouped(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `0.953`, `48`, `12,345`, `2.1e−6`; `digits` significant ones below a thousand. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6) return minus(`${trim((value / 1e6).toPrecision(digits))}${GAP}M`);
  if (size >= 1000) return minus(grouped(value.toFixed(0)));
  if (size < 1e-3) return minus(value.toExponential(1));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return minus(trim(value.toFixed(decimals)));
}

/** A number on an axis: `0.5`, `20k`, `−1M`, `2e−6`. */
export function tick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return minus(`${trim((value / 1e6).toPrecision(3))}M`);
  if (size >= 1e4) return minus(`${trim((value / 1e3).toPrecision(3))}k`);
  if (size > 0 && size < 1e-3) return minus(value.toExponential(Number.isInteger(lead(size)) ? 0 : 1));
  return number(value);
}

/** The digits of a small number before its exponent, free of rounding dust. */
const lead = (size: number) => Math.round((size / 10 ** Math.floor(Math.log10(size))) * 1e6) / 1e6;

function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** A reward or a share of one: always two decimals, so that columns line up. */
export function reward(value: number | null | undefined): string {
  return value === null || value === undefined ? NOTHING : minus(value.toFixed(2));
}

/** `+0.50`, `−0.72`, `0.00`. */
export function signed(value: number | null | undefined, decimals = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  const text = Math.abs(value).toFixed(decimals);
  if (Number(text) === 0) return text;
  return (value > 0 ? "+" : MINUS) + text;
}

/** A change with the precision of the number it belongs to: `+22`, `−0.076`. */
export function change(value: number): string {
  if (value === 0) return "0";
  return (value > 0 ? "+" : MINUS) + number(Math.abs(value), 2);
}

/** 0.62 → `62%`; a share that is not quite none or all is not rounded into it. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NOTHING;
  const value = share * 100;
  const rounded = value > 0 && value < 1 ? "<1" : value > 99 && value < 100 ? ">99" : value.toFixed(0);
  return `${minus(rounded)}%`;
}

/** Shares of one whole, rounded so that they are 100% together: 0.125, 0.875 → `12%`, `88%`. */
export function percents(shares: readonly number[]): string[] {
  const whole = shares.map((share) => Math.floor(share * 100 + 1e-9));
  const target = Math.round(shares.reduce((sum, share) => sum + share, 0) * 100);
  let missing = target - whole.reduce((sum, one) => sum + one, 0);
  const byRest = shares
    .map((share, i) => ({ i, rest: share * 100 - (whole[i] as number) }))
    .sort((a, b) => b.rest - a.rest || b.i - a.i);
  for (const { i, rest } of byRest) {
    if (missing <= 0 || rest <= 0) break;
    whole[i] = (whole[i] as number) + 1;
    missing -= 1;
  }
  return whole.map((one) => `${one}%`);
}

/** `0.41 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NOTHING;
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(seconds < 1 ? 2 : 1)}${GAP}s`;
  const whole = Math.round(seconds);
  if (whole < 1) return `0${GAP}s`;
  const units: [number, string][] = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const first = units.findIndex(([size]) => whole >= size);
  const [size, name] = units[first] as [number, string];
  const next = units[first + 1];
  const rest = next ? Math.floor((whole % size) / next[0]) : 0;
  const head = `${Math.floor(whole / size)}${GAP}${name}`;
  return next && rest > 0 ? `${head} ${rest}${GAP}${next[1]}` : head;
}

/** A time that is only guessed: `20 s`, `10 min`, `2 h 5 min`; no more digits than are known. */
export function roughly(seconds: number): string {
  if (seconds < 59.5) return duration(Math.max(1, Math.round(seconds)));
  if (seconds < 5_400) return `${Math.round(seconds / 60)}${GAP}min`;
  return duration(Math.round(seconds / 60) * 60);
}

/** Two guesses: `16–27 s`, `50 s – 3 min`; just one of them when they read the same. */
export function range(low: number, high: number): string {
  const [from, to] = [roughly(low), roughly(high)];
  const [start, unit, more] = from.split(GAP);
  if (from === to) return to;
  return !more && to.split(GAP).length === 2 && to.endsWith(`${GAP}${unit}`)
    ? `${start}–${to}`
    : `${from} – ${to}`;
}

/** How large a model is: `821 k`, `596 M`, `7.62 B`. */
export function parameters(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  const [size, unit] = value >= 1e9 ? [1e9, "B"] : value >= 1e6 ? [1e6, "M"] : [1e3, "k"];
  return `${number(value / size)}${GAP}${unit}`;
}

/** `312 kB`, `3.8 MB`; powers of ten, as file managers show them. */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? size : number(size, 3)}${GAP}${units[unit]}`;
}

/** `just now`, `5 min ago`, `2 h ago`, then the date. */
export function ago(timestamp: string | null | undefined, now = Date.now()): string {
  if (!timestamp) return NOTHING;
  const seconds = (now - Date.parse(timestamp)) / 1000;
  if (seconds < 45) return "just now";
  if (seconds < 3_600) return `${Math.max(1, Math.round(seconds / 60))}${GAP}min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)}${GAP}h ago`;
  return date(timestamp, now);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `26 Oct`, `26 Oct 2025` in another year than this one; in UTC. */
export function date(timestamp: string, now = Date.now()): string {
  const time = new Date(timestamp);
  const day = `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]}`;
  const year = time.getUTCFullYear();
  return year === new Date(now).getUTCFullYear() ? day : `${day} ${year}`;
}

/** `3 rows`, `1 row`. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${grouped(String(value))}${GAP}${value === 1 ? one : many}`;
}

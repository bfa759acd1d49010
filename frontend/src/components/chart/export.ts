import type { Drawing } from "./model";
import { within } from "./model";
import type { Range } from "./zoom";

/** Quoted where a comma, quote or line break would split it; never a formula of a spreadsheet. */
function field(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** Names of the columns as tables and files call them. */
export function headings(drawing: Drawing): string[] {
  const smoothed = new Set(drawing.columns.filter((one) => one.role === "ghost").map((one) => one.label));
  return drawing.columns.map(({ role, label }) => {
    if (role === "high" || role === "low") return `${label} ${role}`;
    if (role === "peak" || role === "trough") return role === "peak" ? "max" : "min";
    return role === "line" && smoothed.has(label) ? `${label}, smoothed` : label;
  });
}

/** The numbers that are on the screen: visible lines, visible steps, at full precision. */
export function toCsv(
  drawing: Drawing,
  range: Range | null,
  x?: { name: string; places: readonly number[] },
): string {
  const columns = drawing.cells.flatMap((column, i) => (column.length > 0 ? [i] : []));
  const names = headings(drawing);
  const rows = [["step", ...(x ? [x.name] : []), ...columns.map((i) => field(names[i] as string))].join(",")];
  const [first, last] = within(drawing.steps, range);
  for (let at = first; at <= last; at += 1) {
    const cells = columns.map((i) => drawing.cells[i]?.[at] ?? "");
    rows.push([drawing.steps[at], ...(x ? [x.places[at]] : []), ...cells].join(","));
  }
  return `${rows.join("\n")}\n`;
}

/** A name that every file system takes. */
export function fileName(...parts: string[]): string {
  return parts
    .join(" ")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 120);
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

type Picture = {
  plot: HTMLCanvasElement;
  title: string;
  unit: string;
  summary: string;
  legend: readonly { label: string; color: string; dashed: boolean; marker: boolean; surface: boolean }[];
};

const FAMILY = '"Inter Variable", system-ui, sans-serif';
const AIR = 16;
const HEAD = 56;
const FOOT = 34;

/** The chart as a picture: title, unit and legend above, the sentence below, on the page's surface. */
export function toPicture({ plot, title, unit, summary, legend }: Picture): HTMLCanvasElement {
  const token = (name: string) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const scale = plot.width / plot.clientWidth || 1;
  const [width, height] = [plot.clientWidth + 2 * AIR, plot.clientHeight + HEAD + FOOT];
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  const ctx = canvas.getContext("2d") as CanvasRenderingContext2D;
  ctx.scale(scale, scale);
  ctx.fillStyle = token("panel");
  ctx.fillRect(0, 0, width, height);
  const write = (text: string, x: number, y: number, font: string, color: string) => {
    ctx.font = `${font} ${FAMILY}`;
    ctx.fillStyle = color;
    ctx.fillText(text, x, y);
    return ctx.measureText(text).width;
  };
  write(title, AIR, 24, "550 14px", token("ink"));
  ctx.textAlign = "right";
  write(unit, width - AIR, 24, "400 12.5px", token("ink3"));
  ctx.textAlign = "left";
  let x = AIR;
  for (const { label, color, dashed, marker, surface } of legend) {
    ctx.strokeStyle = surface ? `color-mix(in srgb, ${color} 22%, transparent)` : color;
    ctx.lineWidth = surface ? 9 : 2;
    ctx.setLineDash(dashed ? [5, 3] : []);
    ctx.beginPath();
    if (marker) ctx.arc(x + 6, 40, 4, 0, 2 * Math.PI);
    else ctx.moveTo(x, 40);
    if (!marker) ctx.lineTo(x + 14, 40);
    ctx.stroke();
    x += 20;
    x += write(label, x, 44, "400 12.5px", token("ink2")) + 14;
  }
  ctx.drawImage(plot, AIR, HEAD, plot.clientWidth, plot.clientHeight);
  write(summary, AIR, height - 12, "400 12.5px", token("ink3"));
  return canvas;
}

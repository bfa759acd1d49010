import type { ReactNode } from "react";

export type Picture = "curves" | "jobs" | "rows" | "code" | "model" | "adapter" | "people" | "key";

const LINE = { stroke: "var(--line)" };
const FAINT = { fill: "var(--line2)" };

/** A row of a list: its name, a word, a number. */
function rows(cells: (y: number) => ReactNode) {
  return [14, 36, 58].map((y) => (
    <g key={y}>
      <path d={`M10 ${y + 11}h180`} style={LINE} />
      {cells(y)}
    </g>
  ));
}

const bar = (x: number, y: number, width: number, fill = "var(--line)") => (
  <rect x={x} y={y - 3} width={width} height="6" rx="3" fill={fill} />
);

const curve = (y: number) => (
  <path d={`M84 ${y + 5}c9 0 11-1 15-5s8-5 19-5`} stroke="var(--c1)" strokeWidth="1.5" />
);

/** What the screen looks like once it holds something, in a few strokes. */
const PICTURES: Record<Picture, ReactNode> = {
  curves: (
    <>
      <path d="M14 70h172M14 48h172M14 26h172" style={LINE} />
      <path d="M16 62c36 0 44-3 62-18s30-26 62-29 32-3 44-3" stroke="var(--c1)" strokeWidth="2" />
      <path
        d="M16 66c30-1 50-5 72-15s52-22 96-26"
        stroke="var(--c2)"
        strokeWidth="1.5"
        strokeDasharray="4 3"
      />
    </>
  ),
  jobs: rows((y) => (
    <>
      {bar(14, y, 48)}
      {curve(y)}
      {bar(130, y, 24, "var(--ok)")}
      {bar(166, y, 20)}
    </>
  )),
  rows: rows((y) => (
    <>
      <rect x="14" y={y - 4} width="10" height="8" rx="2" style={FAINT} />
      {bar(32, y, 84 - (y % 3) * 9)}
      {bar(134, y, 18, "var(--c3)")}
      {bar(164, y, 22)}
    </>
  )),
  code: (
    <>
      {bar(16, 16, 26, "var(--c4)")}
      {bar(48, 16, 62)}
      {bar(28, 32, 44)}
      {bar(78, 32, 30, "var(--c3)")}
      {bar(28, 48, 34)}
      {bar(28, 64, 30, "var(--c4)")}
      {bar(64, 64, 22, "var(--c1)")}
      <rect x="134" y="10" width="52" height="60" rx="6" style={LINE} />
      {bar(142, 24, 20, "var(--ok)")}
      {bar(142, 40, 34)}
      {bar(142, 56, 26)}
    </>
  ),
  model: (
    <>
      <rect x="68" y="10" width="64" height="60" rx="8" style={LINE} />
      {[22, 34, 46, 58].map((y) => (
        <path key={y} d={`M56 ${y}h12M132 ${y}h12`} style={LINE} />
      ))}
      <rect x="80" y="22" width="40" height="36" rx="4" style={FAINT} />
      <path d="M86 50c6 0 8-2 12-8s8-12 16-12" stroke="var(--c1)" strokeWidth="2" />
    </>
  ),
  adapter: (
    <>
      <rect x="26" y="14" width="64" height="52" rx="8" style={LINE} />
      <rect x="36" y="24" width="44" height="32" rx="4" style={FAINT} />
      <rect x="104" y="24" width="22" height="32" rx="5" stroke="var(--c1)" strokeWidth="1.5" />
      <path d="M90 34h14M90 46h14" stroke="var(--c1)" strokeWidth="1.5" />
      <path d="M152 28v20m-7-7 7 7 7-7M143 56h18" stroke="var(--c3)" strokeWidth="1.6" />
    </>
  ),
  people: rows((y) => (
    <>
      <circle cx="20" cy={y} r="6" style={FAINT} />
      {bar(36, y, 58)}
      {bar(150, y, 36, "var(--accent-soft)")}
    </>
  )),
  key: rows((y) => (
    <>
      <circle cx="19" cy={y} r="4" stroke="var(--c1)" strokeWidth="1.5" />
      <path d={`M23 ${y}h16m-5 0v4`} stroke="var(--c1)" strokeWidth="1.5" />
      {bar(54, y, 60)}
      {bar(160, y, 26)}
    </>
  )),
};

export function EmptyPicture({ of }: { of: Picture }) {
  return (
    <svg width="200" height="80" viewBox="0 0 200 80" aria-hidden="true" fill="none">
      {PICTURES[of]}
    </svg>
  );
}

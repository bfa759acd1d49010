import { useState } from "react";

const KEY = "reinforge.pinned-charts";
const MOST = 12;

/** Ids of pinned charts in this browser; none if its storage is closed or holds something else. */
export function readPins(stored: string | null): string[] {
  try {
    const value: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(value) ? value.filter((id) => typeof id === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** The pins with one more, last, or one less. */
export const toggled = (pins: readonly string[], id: string): string[] =>
  pins.includes(id) ? pins.filter((one) => one !== id) : [...pins, id].slice(-MOST);

function load(): string[] {
  try {
    return readPins(localStorage.getItem(KEY));
  } catch {
    return [];
  }
}

/** Charts that stand first in every job. */
export function usePins(): [readonly string[], (id: string) => void] {
  const [pins, setPins] = useState(load);
  const toggle = (id: string) => {
    const next = toggled(pins, id);
    setPins(next);
    try {
      localStorage.setItem(KEY, JSON.stringify(next));
    } catch {
      // Storage is closed: the pins last until the page is left.
    }
  };
  return [pins, toggle];
}

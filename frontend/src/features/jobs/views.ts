import type { JobFilter } from "@/api/job-list";

export type SavedView = { name: string; filter: JobFilter };

const KEY = "reinforge.job-views";
const MOST = 50;

/** Views saved in this browser; none if its storage is closed or holds something else. */
export function loadViews(): SavedView[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    if (!Array.isArray(value)) return [];
    return value.filter(
      (view): view is SavedView =>
        typeof view?.name === "string" && typeof view.filter === "object" && view.filter !== null,
    );
  } catch {
    return [];
  }
}

/** Replaces the view of that name; returns all. */
export function saveView(name: string, filter: JobFilter): SavedView[] {
  const others = loadViews().filter((view) => view.name !== name);
  return store([...others, { name, filter }].slice(-MOST));
}

export const removeView = (name: string) => store(loadViews().filter((view) => view.name !== name));

function store(views: SavedView[]): SavedView[] {
  try {
    localStorage.setItem(KEY, JSON.stringify(views));
  } catch {
    // Storage is closed: the view lasts until the page is left.
  }
  return views;
}

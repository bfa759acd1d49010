/** An id for a model from where it comes from: `hub:Qwen/Qwen3-0.6B@main` and `/models/Qwen3-0.6B/` → `qwen3-0.6b`. */
export function modelId(source: string): string {
  const last = source.trim().replace(/^hub:/, "").replace(/@.*$/, "").replace(/\/+$/, "").split("/").at(-1);
  return (last ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .slice(0, 100);
}

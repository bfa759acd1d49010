/** A first guess at a model's id from where it comes from: `hub:Qwen/Qwen3-0.6B@main` → `qwen3-0.6b`. */
export function idFrom(source: string): string {
  const [place = ""] = source.trim().replace(/^hub:/, "").split("@");
  const last =
    place
      .replace(/[/\\]+$/, "")
      .split(/[/\\]/)
      .at(-1) ?? "";
  return last
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
}

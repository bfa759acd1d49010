/** A job as one HTML file; `samples` prompts with completions, 8 by default. */
export const jobReportUrl = (job: string, samples?: number) =>
  `/api/v1/jobs/${encodeURIComponent(job)}/report${samples === undefined ? "" : `?samples=${samples}`}`;

/** A job's report card: base against adapter on held-out rows. */
export const reportCardUrl = (job: string, format: "html" | "md" | "json" | "manifest" = "html") =>
  `/api/v1/jobs/${encodeURIComponent(job)}/card?format=${format}`;

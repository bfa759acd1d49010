/** A job as one HTML file; `samples` prompts with completions, 8 by default. */
export const jobReportUrl = (job: string, samples?: number) =>
  `/api/v1/jobs/${encodeURIComponent(job)}/report${samples === undefined ? "" : `?samples=${samples}`}`;

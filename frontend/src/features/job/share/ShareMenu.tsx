import { Button, Menu } from "@mantine/core";
import type { JobDetail } from "@/api/jobs";
import { jobReportUrl } from "@/api/reports";

/** What one can take along of a job. */
export function ShareMenu({ job }: { job: JobDetail }) {
  return (
    <Menu position="bottom-end" width={280}>
      <Menu.Target>
        <Button variant="default">Share…</Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>One HTML file, readable without this server</Menu.Label>
        <Menu.Item component="a" href={jobReportUrl(job.id)} download>
          Download with sample completions
        </Menu.Item>
        <Menu.Item component="a" href={jobReportUrl(job.id, 0)} download>
          Download without prompts and completions
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

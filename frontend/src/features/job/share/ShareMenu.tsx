import { Button, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { JobDetail } from "@/api/jobs";
import { jobReportUrl, reportCardUrl } from "@/api/reports";
import { ShareLinks } from "./ShareLinks";
import { TrackerExports } from "./TrackerExports";

const CARD_FILES = [
  ["html", "card.html", "Download as HTML"],
  ["md", "card.md", "Download as Markdown"],
  ["json", "card.json", "Download as JSON"],
  ["manifest", "manifest.json", "Download the signed manifest"],
] as const;

/** What one can take along of a job: a file, or a link for people without an account. */
export function ShareMenu({ job }: { job: JobDetail }) {
  const [linking, links] = useDisclosure(false);
  const [exporting, trackers] = useDisclosure(false);
  return (
    <>
      <Menu position="bottom-end" width={290}>
        <Menu.Target>
          <Button variant="default">Share…</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={links.open}>Links without sign-in…</Menu.Item>
          <Menu.Item onClick={trackers.open}>Export to a tracker…</Menu.Item>
          <Menu.Divider />
          <Menu.Label>One HTML file, readable without this server</Menu.Label>
          <Menu.Item component="a" href={jobReportUrl(job.id)} download>
            Download with sample completions
          </Menu.Item>
          <Menu.Item component="a" href={jobReportUrl(job.id, 0)} download>
            Download without prompts and completions
          </Menu.Item>
          <Menu.Divider />
          <Menu.Label>Report card: base against adapter</Menu.Label>
          {CARD_FILES.map(([format, file, title]) => (
            <Menu.Item key={format} component="a" href={reportCardUrl(job.id, format)} download={file}>
              {title}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {exporting && <TrackerExports job={job.id} onClose={trackers.close} />}
      {linking && <ShareLinks job={job} onClose={links.close} />}
    </>
  );
}

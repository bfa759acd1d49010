import { Button, Menu } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { adapterDownloadUrl, checkpointDownloadUrl } from "@/api/adapters";
import { type Checkpoint, checkpointsQuery, type JobDetail } from "@/api/jobs";
import { ButtonLink } from "@/components/ButtonLink";
import { MenuLink } from "@/components/MenuLink";
import styles from "./WeightsActions.module.css";
import { checkpointName, comparison, downloadName, weightsOf } from "./weights";

const PLACE = {
  position: "bottom-end",
  width: 400,
  styles: { dropdown: { maxWidth: "calc(100vw - 16px)" } },
} as const;

function Line({ one, job }: { one: Checkpoint; job: JobDetail }) {
  return (
    <>
      {checkpointName(one).replace(/^s/, "S")}
      <small className={styles.about}>{comparison(one, job.held_out_reward_before)}</small>
    </>
  );
}

/** Download and Deploy of a finished job: the best checkpoint, another one on request; a choice where none beats the
 * base. */
export function WeightsActions({ job, adapter }: { job: JobDetail; adapter: string }) {
  const list = useQuery(checkpointsQuery(job.id));
  const checkpoints = list.data?.data ?? [];
  const { chosen, others, problem } = weightsOf(job, checkpoints);
  const idOf = (one: Checkpoint) => (one.final ? adapter : one.id);
  const url = (one: Checkpoint) =>
    one.final ? adapterDownloadUrl(adapter) : checkpointDownloadUrl(job.id, one.step);
  const label = problem ? <Menu.Label className={styles.problem}>{problem}</Menu.Label> : null;
  const downloads = others.map((one) => (
    <Menu.Item key={one.id} component="a" href={url(one)} download>
      <Line one={one} job={job} />
    </Menu.Item>
  ));
  // Which one is the best is not known yet: no button that would take another one.
  if (list.isPending) return <Button loading>Download adapter</Button>;
  if (problem) {
    return (
      <>
        <Menu {...PLACE}>
          <Menu.Target>
            <Button variant="default">Deploy…</Button>
          </Menu.Target>
          <Menu.Dropdown>
            {label}
            {others.map((one) => (
              <MenuLink key={one.id} to="/deployments" search={{ from: idOf(one), job: job.id }}>
                <Line one={one} job={job} />
              </MenuLink>
            ))}
          </Menu.Dropdown>
        </Menu>
        <Menu {...PLACE}>
          <Menu.Target>
            <Button>Download…</Button>
          </Menu.Target>
          <Menu.Dropdown>
            {label}
            {downloads}
          </Menu.Dropdown>
        </Menu>
      </>
    );
  }
  return (
    <>
      <ButtonLink
        to="/deployments"
        search={{ from: chosen ? idOf(chosen) : adapter, job: job.id }}
        variant="default"
      >
        Deploy…
      </ButtonLink>
      <Button.Group>
        <Button
          component="a"
          href={chosen ? url(chosen) : adapterDownloadUrl(adapter)}
          download
          title={chosen ? comparison(chosen, job.held_out_reward_before) : undefined}
        >
          {downloadName(chosen, job)}
        </Button>
        {others.length > 0 && (
          <Menu {...PLACE}>
            <Menu.Target>
              <Button className={styles.more} aria-label="Download another checkpoint">
                ▾
              </Button>
            </Menu.Target>
            <Menu.Dropdown>{downloads}</Menu.Dropdown>
          </Menu>
        )}
      </Button.Group>
    </>
  );
}

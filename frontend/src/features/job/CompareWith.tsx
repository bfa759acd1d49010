import { Button, Menu } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { jobListQuery } from "@/api/job-list";
import type { JobDetail } from "@/api/jobs";
import { MenuLink } from "@/components/MenuLink";
import { ago } from "@/lib/format";
import styles from "./CompareWith.module.css";

const MOST = 20;

/** Newest other jobs, those of the same dataset first: the comparison has this one as its baseline. */
export function CompareWith({ job }: { job: JobDetail }) {
  const [opened, setOpened] = useState(false);
  const query = useInfiniteQuery({ ...jobListQuery({}, MOST), enabled: opened, refetchInterval: false });
  const others = query.data?.pages.flatMap((page) => page.data).filter(({ id }) => id !== job.id);
  const isAlike = (dataset: string) => Number(dataset === job.dataset);
  const sorted = others?.sort((a, b) => isAlike(b.dataset) - isAlike(a.dataset));
  return (
    <Menu position="bottom-end" opened={opened} onChange={setOpened} withinPortal>
      <Menu.Target>
        <Button variant="default">Compare with…</Button>
      </Menu.Target>
      <Menu.Dropdown className={styles.jobs}>
        {sorted?.map((other) => (
          <MenuLink
            key={other.id}
            to="/compare"
            search={{ jobs: `${job.id},${other.id}` }}
            rightSection={<small>{ago(other.created_at)}</small>}
          >
            {other.name}
          </MenuLink>
        ))}
        {sorted?.length === 0 && <Menu.Item disabled>No other jobs</Menu.Item>}
        {!sorted && <Menu.Item disabled>{query.isError ? query.error.message : "Loading"}</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  );
}

import { Button, Menu } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { jobListQuery } from "@/api/job-list";
import { ago } from "@/lib/format";
import styles from "./NewJob.module.css";

/** Another job's specification to begin with. */
export function StartFrom({ onPick }: { onPick: (id: string) => void }) {
  const [opened, setOpened] = useState(false);
  const jobs = useInfiniteQuery({ ...jobListQuery({}, 20), enabled: opened, refetchInterval: false });
  const list = jobs.data?.pages.flatMap((page) => page.data);
  return (
    <Menu position="bottom-end" opened={opened} onChange={setOpened} withinPortal>
      <Menu.Target>
        <Button variant="default">Copy from a job…</Button>
      </Menu.Target>
      <Menu.Dropdown className={styles.jobs}>
        <Menu.Label>Copies its specification; that job does not change</Menu.Label>
        {list?.map((job) => (
          <Menu.Item
            key={job.id}
            onClick={() => onPick(job.id)}
            rightSection={<small>{ago(job.created_at)}</small>}
          >
            {job.name}
          </Menu.Item>
        ))}
        {list?.length === 0 && <Menu.Item disabled>No jobs yet</Menu.Item>}
        {!list && <Menu.Item disabled>{jobs.isError ? jobs.error.message : "Loading"}</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  );
}

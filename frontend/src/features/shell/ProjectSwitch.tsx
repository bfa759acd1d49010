import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { followOtherTabs, projectsQuery, useSwitchProject } from "@/api/projects";
import { toastFailed } from "@/lib/toast";
import styles from "./Navigation.module.css";

/** Which of one's projects the page shows: a choice for people of several projects, else its name. */
export function ProjectSwitch({ name }: { name: string | undefined }) {
  const projects = useQuery(projectsQuery).data?.data ?? [];
  const change = useSwitchProject();
  useEffect(followOtherTabs, []);
  if (projects.length < 2) {
    return (
      <p className={styles.project} title={name && `Project ${name}`}>
        {name ?? "…"}
      </p>
    );
  }
  return (
    <NativeSelect
      size="xs"
      aria-label="Project"
      value={projects.find((project) => project.current)?.id}
      disabled={change.isPending}
      onChange={(event) =>
        change.mutate(event.currentTarget.value, {
          onError: (error) => toastFailed("Could not switch the project", error),
        })
      }
      data={projects.map(({ id, name }) => ({ value: id, label: name }))}
    />
  );
}

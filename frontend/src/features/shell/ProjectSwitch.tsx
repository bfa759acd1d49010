import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { followOtherTabs, projectsQuery, useSwitchProject } from "@/api/projects";
import { toastFailed } from "@/lib/toast";

/** Which of one's projects the page shows; nothing for people of one project. */
export function ProjectSwitch() {
  const projects = useQuery(projectsQuery).data?.data ?? [];
  const change = useSwitchProject();
  useEffect(followOtherTabs, []);
  if (projects.length < 2) return null;
  return (
    <NativeSelect
      size="xs"
      mt={8}
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

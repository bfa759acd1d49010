import { Button, Menu, TextInput } from "@mantine/core";
import { useState } from "react";
import type { JobFilter } from "@/api/job-list";
import { loadViews, removeView, saveView } from "./views";

type Props = { filter: JobFilter; onFilter: (filter: JobFilter) => void };

/** Filters, order and columns under a name, in this browser. */
export function SavedViews({ filter, onFilter }: Props) {
  const [views, setViews] = useState(loadViews);
  const [name, setName] = useState("");
  const save = () => {
    if (!name.trim()) return;
    setViews(saveView(name.trim(), filter));
    setName("");
  };
  return (
    <Menu position="bottom-start" closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="default">Views</Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Saved in this browser</Menu.Label>
        {views.map((view) => (
          <Menu.Item key={view.name} closeMenuOnClick onClick={() => onFilter(view.filter)}>
            {view.name}
          </Menu.Item>
        ))}
        {views.length === 0 && <Menu.Item disabled>No saved views</Menu.Item>}
        <Menu.Divider />
        <TextInput
          aria-label="Name of the view"
          placeholder="Name"
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && save()}
        />
        <Menu.Item disabled={!name.trim()} onClick={save}>
          Save this view
        </Menu.Item>
        {views.length > 0 && <Menu.Label>Delete</Menu.Label>}
        {views.map((view) => (
          <Menu.Item key={view.name} color="red" onClick={() => setViews(removeView(view.name))}>
            Delete {view.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

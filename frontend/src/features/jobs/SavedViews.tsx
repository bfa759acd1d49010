import { Button, CloseButton, Popover, TextInput } from "@mantine/core";
import { useState } from "react";
import type { JobFilter } from "@/api/job-list";
import styles from "./JobList.module.css";
import { loadViews, removeView, saveView } from "./views";

type Props = { filter: JobFilter; onFilter: (filter: JobFilter) => void };

/** Filters, order and columns under a name, in this browser. */
export function SavedViews({ filter, onFilter }: Props) {
  const [opened, setOpened] = useState(false);
  const [views, setViews] = useState(loadViews);
  const [name, setName] = useState("");
  return (
    <Popover position="bottom-start" trapFocus returnFocus opened={opened} onChange={setOpened}>
      <Popover.Target>
        <Button variant="default" onClick={() => setOpened(!opened)}>
          Views
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={styles.views}>
        {views.length === 0 && "No saved views"}
        <ul aria-label="Saved views">
          {views.map((view) => (
            <li key={view.name} className={styles.view}>
              <Button
                variant="subtle"
                justify="flex-start"
                onClick={() => {
                  setOpened(false);
                  onFilter(view.filter);
                }}
              >
                {view.name}
              </Button>
              <CloseButton
                aria-label={`Delete ${view.name}`}
                onClick={() => setViews(removeView(view.name))}
              />
            </li>
          ))}
        </ul>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (!name.trim()) return;
            setViews(saveView(name.trim(), filter));
            setName("");
          }}
        >
          <TextInput
            aria-label="Name of the view"
            placeholder="Save this view as"
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" disabled={!name.trim()}>
            Save
          </Button>
        </form>
        <small>Saved in this browser</small>
      </Popover.Dropdown>
    </Popover>
  );
}

import { Modal } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import styles from "./Palette.module.css";
import type { Item } from "./palette-items";
import { usePaletteItems } from "./use-palette-items";

type Props = { onClose: () => void; onHelp: () => void; onSignOut: () => void };

/** Go to anything: type, walk with the arrows, Enter. The focus stays in the field (a combobox with a list). */
export default function Palette({ onClose, onHelp, onSignOut }: Props) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const base = useId();
  const list = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const { items, waiting } = usePaletteItems(query, { onHelp, onSignOut });
  const current = Math.min(at, items.length - 1);

  useEffect(() => {
    list.current?.children[0]?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });

  const choose = (item: Item | undefined, newTab = false) => {
    if (!item) return;
    if (item.to && newTab) return void window.open(item.to, "_blank");
    onClose();
    if (item.to) void navigate({ href: item.to });
    item.run?.();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const last = items.length - 1;
    const moves: Record<string, number> = {
      ArrowDown: current >= last ? 0 : current + 1,
      ArrowUp: current <= 0 ? last : current - 1,
      PageDown: Math.min(last, current + 6),
      PageUp: Math.max(0, current - 6),
    };
    if (event.key in moves) {
      event.preventDefault();
      setAt(moves[event.key] as number);
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      choose(items[current], event.metaKey || event.ctrlKey);
    }
  };

  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      centered={false}
      yOffset="12vh"
      size={560}
      padding={0}
      attributes={{ content: { "aria-label": "Go to" } }}
    >
      <input
        className={styles.field}
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls={`${base}-list`}
        aria-activedescendant={items[current] && `${base}-${items[current].id}`}
        aria-autocomplete="list"
        placeholder="Jobs, datasets, rewards, models, actions…"
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className={styles.list} ref={list}>
        <div id={`${base}-list`} role="listbox" aria-label="Answers" aria-busy={waiting}>
          {items.map((item, i) => (
            <div key={item.id}>
              {item.group !== items[i - 1]?.group && (
                <div className={styles.group} role="presentation">
                  {item.group}
                </div>
              )}
              {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles the keys */}
              <div
                id={`${base}-${item.id}`}
                className={styles.item}
                role="option"
                tabIndex={-1}
                aria-selected={i === current}
                onPointerMove={() => setAt(i)}
                onClick={(event) => choose(item, event.metaKey || event.ctrlKey)}
              >
                <span>{item.label}</span>
                {item.note && <small>{item.note}</small>}
              </div>
            </div>
          ))}
        </div>
        {items.length === 0 && (
          <p className={styles.none} role="status">
            {waiting ? "Searching…" : `No match for "${query.trim()}". You can also search jobs by ID.`}
          </p>
        )}
      </div>
      <div className={styles.foot} aria-hidden="true">
        <span>↑↓ to move</span>
        <span>↵ to open</span>
        <span>Esc to close</span>
      </div>
    </Modal>
  );
}

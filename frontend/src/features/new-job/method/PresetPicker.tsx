import { Modal } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import type { Preset } from "@/api/job-form";
import { Words } from "@/components/spec/Words";
import { Confidence } from "./Confidence";
import styles from "./Method.module.css";
import { firstSentence, searched } from "./preset-parts";

type ListProps = {
  presets: readonly Preset[];
  chosen: string | null;
  /** Whether the job's environment is `tools`; presets that need several turns run in it alone. */
  withTools: boolean;
  onChoose: (preset: Preset) => void;
  onClose: () => void;
};

const PAGE = 5;

/** A dialog with every preset; the focus goes back to what opened it. */
export function PresetPicker({ opened, ...list }: ListProps & { opened: boolean }) {
  const narrow = useMediaQuery("(max-width: 640px)");
  return (
    <Modal opened={opened} onClose={list.onClose} title="All variants" size={720} fullScreen={narrow}>
      <Variants {...list} />
    </Modal>
  );
}

/**
 * Every preset, searched and grouped. The focus stays in the field (a combobox with a list). Presets that the job
 * cannot run can be reached too, so that screen readers read their reason, but not chosen.
 */
function Variants({ presets, chosen, withTools, onChoose, onClose }: ListProps) {
  const [query, setQuery] = useState("");
  const families = useMemo(() => searched(presets, query), [presets, query]);
  const items = families.flatMap((family) => family.presets);
  const [at, setAt] = useState(() => items.findIndex((one) => one.id === chosen));
  const current = items[Math.max(0, Math.min(at, items.length - 1))];
  const base = useId();
  const list = useRef<HTMLDivElement>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the one that is walked to comes into view
  useEffect(() => {
    list.current?.querySelector('[data-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current?.id]);

  const runs = (preset: Preset) => withTools || preset.single_turn;
  const choose = (preset: Preset | undefined) => {
    if (!preset || !runs(preset)) return;
    onChoose(preset);
    onClose();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const last = items.length - 1;
    const now = current ? items.indexOf(current) : 0;
    const moves: Record<string, number> = {
      ArrowDown: now >= last ? 0 : now + 1,
      ArrowUp: now <= 0 ? last : now - 1,
      PageDown: Math.min(last, now + PAGE),
      PageUp: Math.max(0, now - PAGE),
    };
    if (event.key in moves) {
      event.preventDefault();
      setAt(moves[event.key] as number);
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      choose(current);
    }
  };

  return (
    <>
      <input
        className={styles.search}
        role="combobox"
        aria-label="Search the variants"
        aria-expanded="true"
        aria-controls={`${base}-list`}
        aria-activedescendant={current && `${base}-${current.id}`}
        aria-autocomplete="list"
        placeholder="Name, paper or purpose"
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
      <p className={styles.note} role="status">
        {items.length === 0
          ? `No variant matches “${query.trim()}”.`
          : `${items.length} of ${presets.length} variants. ↑↓ to move, Enter to choose.`}
      </p>
      <div className={styles.variants} ref={list}>
        <div id={`${base}-list`} role="listbox" aria-label="Variants">
          {families.map((family) => (
            // biome-ignore lint/a11y/useSemanticElements: a group of options; a fieldset may not stand in a listbox
            <div key={family.id} role="group" aria-labelledby={`${base}-family-${family.id}`}>
              <div id={`${base}-family-${family.id}`} className={styles.family} role="presentation">
                {family.title}
              </div>
              {family.presets.map((preset) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles the keys
                <div
                  key={preset.id}
                  id={`${base}-${preset.id}`}
                  className={styles.variant}
                  role="option"
                  tabIndex={-1}
                  aria-selected={preset.id === chosen}
                  aria-disabled={!runs(preset) || undefined}
                  data-current={preset === current}
                  onClick={() => choose(preset)}
                >
                  <b>{preset.title}</b>
                  <Confidence level={preset.confidence} />
                  <p>
                    <Words text={firstSentence(preset.summary)} />
                  </p>
                  {preset.reason && !runs(preset) && (
                    <p className={styles.refusal}>
                      Not for this kind of job: <Words text={preset.reason} />
                    </p>
                  )}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </>
  );
}

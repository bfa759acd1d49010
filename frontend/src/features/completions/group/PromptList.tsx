import { NativeSelect } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Pages } from "@/components/Pages";
import { number } from "@/lib/format";
import { type Group, KIND_MEANING, KIND_SHAPE, type Only, onlyThese, rewardScale, spread } from "../groups";
import { visible } from "../text";
import styles from "./Prompts.module.css";
import { RewardDots } from "./RewardDots";

type Props = {
  groups: readonly Group[];
  chosen: Group | undefined;
  only: Only;
  /** Held-out groups are not trained on, so they have no learning signal to show. */
  trains: boolean;
  onOnly: (only: Only) => void;
  onChoose: (group: Group) => void;
};

const PAGE = 12;
const NARROW_PAGE = 4;
const ONLY: Record<Only, string> = {
  all: "all prompts",
  signal: "with signal",
  right: "equal, above 0",
  wrong: "equal, 0 or below",
};

/** Completions that got no reward, and those that were cut off. */
function Trouble({ failed = 0, truncated = 0 }: Group) {
  return (
    <>
      {failed > 0 && (
        <em title={`${failed} without a reward`}>
          <span aria-hidden="true">✕{failed}</span>
          <span className="visually-hidden">, {failed} without a reward</span>
        </em>
      )}
      {truncated > 0 && (
        <em title={`${truncated} truncated at the token limit`}>
          <span aria-hidden="true">✂{truncated}</span>
          <span className="visually-hidden">, {truncated} truncated</span>
        </em>
      )}
    </>
  );
}

/** The prompts of a step: what each asks and how its completions did. Arrow keys move along. */
export function PromptList({ groups, chosen, only, trains, onOnly, onChoose }: Props) {
  const list = useRef<HTMLOListElement>(null);
  const size = useMediaQuery("(max-width: 900px)") ? NARROW_PAGE : PAGE;
  const [turned, setTurned] = useState<{ from: number | undefined; offset: number }>();
  const filtered = onlyThese(groups, only);
  const scale = rewardScale(groups);
  const at = chosen ? filtered.indexOf(chosen) : -1;
  // The page of the chosen prompt, until another one is turned to.
  const offset =
    turned && turned.from === chosen?.prompt_no && turned.offset < filtered.length
      ? turned.offset
      : Math.floor(Math.max(0, at) / size) * size;
  const rows = filtered.slice(offset, offset + size);
  const reachable = chosen && rows.includes(chosen) ? chosen : rows[0];

  const moved = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus follows the choice, perhaps to another page
  useEffect(() => {
    if (moved.current) list.current?.querySelector<HTMLElement>("[aria-current=true]")?.focus();
    moved.current = false;
  }, [chosen]);

  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = by && filtered[(reachable ? filtered.indexOf(reachable) : 0) + by];
    if (!next) return;
    event.preventDefault();
    moved.current = true;
    onChoose(next);
  };

  return (
    <nav className={styles.prompts} aria-label="Prompts of the step">
      <div className={styles.filter}>
        <NativeSelect
          size="xs"
          aria-label="Filter prompts"
          value={only}
          onChange={(event) => onOnly(event.currentTarget.value as Only)}
          data={(Object.keys(ONLY) as Only[]).map((value) => ({
            value,
            label: `${ONLY[value]} (${onlyThese(groups, value).length})`,
          }))}
        />
        <small title="Reward scale">
          reward {number(scale[0])} to {number(scale[1])}
        </small>
      </div>
      {filtered.length === 0 && <p className={styles.none}>No prompt matches this filter at this step.</p>}
      <ol ref={list} onKeyDown={onKeyDown}>
        {rows.map((group) => (
          <li key={group.prompt_no}>
            <button
              type="button"
              aria-current={group === chosen}
              tabIndex={group === reachable ? 0 : -1}
              onClick={() => onChoose(group)}
            >
              <span className={styles.no}>{group.prompt_no + 1}</span>
              <span className={styles.asks} dir="auto">
                {visible(group.prompt) || `row ${group.row_index + 1}`}
              </span>
              <span className={styles.trouble}>
                <Trouble {...group} />
              </span>
              <span
                className={styles.kind}
                data-kind={group.kind}
                title={trains ? KIND_MEANING[group.kind] : undefined}
              >
                <span aria-hidden="true">{KIND_SHAPE[group.kind]}</span> {group.kind}
              </span>
              <RewardDots rewards={group.rewards ?? []} mean={group.mean} scale={scale} />
              <span className={styles.spread}>
                <span className="visually-hidden">mean reward </span>
                {spread(group)}
              </span>
            </button>
          </li>
        ))}
      </ol>
      {filtered.length > size && (
        <div className={styles.pages}>
          <Pages
            what="prompt"
            offset={offset}
            size={size}
            total={filtered.length}
            onOffset={(to) => setTurned({ from: chosen?.prompt_no, offset: to })}
          />
        </div>
      )}
    </nav>
  );
}

import { type KeyboardEvent, type MouseEvent, memo, useEffect, useRef, useState } from "react";
import type { Completion } from "@/api/completions";
import { number, percent } from "@/lib/format";
import { cell, named } from "../text";
import { level, type Measure, nat } from "./scales";
import styles from "./Tokens.module.css";
import { useMore } from "./use-more";

type Values = readonly (number | null)[] | undefined;
type Props = { completion: Completion; values: Values; measure: Measure };

/** Cells are drawn once per measure; which one is pointed at is set on the elements, not by drawing again. */
const Cells = memo(function Cells({
  tokens,
  values,
  measure,
  mask,
  visible,
}: {
  tokens: readonly string[];
  values: Values;
  measure: Measure;
  mask: readonly boolean[] | undefined;
  visible: number;
}) {
  return tokens.slice(0, visible).map((token, i) => {
    const value = values?.[i];
    return (
      <bdi
        // biome-ignore lint/suspicious/noArrayIndexKey: the place is the name of a token
        key={i}
        data-i={i}
        data-level={level(value, measure)}
        data-foreign={mask?.[i] === false || undefined}
        data-below={(measure === "gap" && (value ?? 0) < 0) || undefined}
      >
        {cell(token)}
      </bdi>
    );
  });
});

/** All that is known about one token, as a line. */
function tokenTitle(completion: Completion, i: number): string {
  if (completion.mask?.[i] === false)
    return `not written by the policy: not trained · id ${completion.token_ids?.[i] ?? "unknown"}`;
  const at = (values: readonly number[] | undefined) => values?.[i];
  const [sampler, trainer, entropy] = [
    at(completion.sampler_logprobs),
    at(completion.trainer_logprobs),
    at(completion.entropies),
  ];
  return [
    `log-prob ${nat(sampler)}`,
    sampler !== undefined && `probability ${percent(Math.exp(sampler))}`,
    entropy !== undefined && `entropy ${nat(entropy)}`,
    sampler !== undefined && trainer !== undefined && `gap ${nat(trainer - sampler)}`,
    `id ${completion.token_ids?.[i] ?? "unknown"}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

const MOVES: Record<string, (at: number, last: number) => number> = {
  ArrowRight: (at, last) => Math.min(at + 1, last),
  ArrowLeft: (at) => Math.max(at - 1, 0),
  ArrowDown: (at, last) => Math.min(at + 10, last),
  ArrowUp: (at) => Math.max(at - 10, 0),
  PageDown: (at, last) => Math.min(at + 100, last),
  PageUp: (at) => Math.max(at - 100, 0),
  Home: () => 0,
  End: (_, last) => last,
};

/** Tokens in sequence. Arrow keys move a cursor; the line above describes the token at cursor or mouse. */
export function TokenCells({ completion, values, measure }: Props) {
  const tokens = completion.tokens ?? [];
  const box = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState(0);
  const [over, setOver] = useState<number | null>(null);
  const { visible, showTo, sentinel } = useMore(tokens.length, 1500);
  const at = over ?? cursor;
  const last = tokens.length - 1;

  useEffect(() => {
    const element = box.current?.querySelector<HTMLElement>(`[data-i="${at}"]`);
    element?.setAttribute("data-at", "");
    return () => element?.removeAttribute("data-at");
  });
  useEffect(() => {
    if (cursor > 0) box.current?.querySelector(`[data-i="${cursor}"]`)?.scrollIntoView({ block: "nearest" });
  }, [cursor]);

  const onKeyDown = (event: KeyboardEvent) => {
    const move = MOVES[event.key];
    if (!move || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    const next = move(cursor, last);
    showTo(next);
    setOver(null);
    setCursor(next);
  };
  const pointed = (event: MouseEvent) => {
    const i = (event.target as HTMLElement).closest<HTMLElement>("[data-i]")?.dataset.i;
    return i === undefined ? null : Number(i);
  };
  const name = named(tokens[at] ?? "");
  return (
    <>
      <p className={styles.readout}>
        <span>
          token {at + 1} of {number(tokens.length, 6)}
        </span>
        <code dir="auto">{name}</code>
        <span>{tokenTitle(completion, at)}</span>
      </p>
      <div
        ref={box}
        className={styles.cells}
        data-measure={measure}
        role="slider"
        tabIndex={0}
        aria-label="Token"
        aria-valuemin={1}
        aria-valuemax={tokens.length}
        aria-valuenow={cursor + 1}
        aria-valuetext={`${cursor + 1} of ${tokens.length}: ${named(tokens[cursor] ?? "")}, ${tokenTitle(completion, cursor)}`}
        onKeyDown={onKeyDown}
        onMouseOver={(event) => setOver(pointed(event))}
        onFocus={() => setOver(null)}
        onMouseLeave={() => setOver(null)}
        onClick={(event) => setCursor(pointed(event) ?? cursor)}
      >
        <Cells tokens={tokens} values={values} measure={measure} mask={completion.mask} visible={visible} />
        <span ref={sentinel} aria-hidden="true" />
      </div>
    </>
  );
}

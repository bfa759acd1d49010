import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import {
  type ComparedSplit,
  comparedCompletionsQuery,
  type JobComparison,
  type PromptSamples,
} from "@/api/compare";
import { Failure } from "@/components/Failure";
import { SkeletonCard } from "@/components/Skeleton";
import { count, NOTHING, number, reward } from "@/lib/format";
import { labelsOf } from "../place";
import styles from "./SharedPrompts.module.css";

const FOLDED = 6;

function Card({ result, name, split }: { result: PromptSamples; name: string; split: ComparedSplit }) {
  return (
    <article className={styles.card} aria-label={name}>
      <header>
        <Link
          to="/jobs/$id"
          params={{ id: result.job }}
          search={{
            tab: "completions",
            split: split === "train" ? undefined : split,
            step: result.step,
            prompt: result.prompt_no,
          }}
          title={name}
        >
          {name}
        </Link>
        <span>
          <b>{reward(result.reward)}</b> mean · {number(result.completion_tokens)} tokens · step {result.step}
        </span>
      </header>
      <ol>
        {result.samples.map((sample) => (
          <li key={sample.sample_no}>
            <span className={styles.figures}>
              <b>{sample.error ? "error" : reward(sample.reward)}</b>
              {count(sample.length, "token")}
              {sample.finish_reason === "length" && " · truncated"}
            </span>
            <bdi className={styles.text}>{sample.text || NOTHING}</bdi>
          </li>
        ))}
      </ol>
      {result.completions > result.samples.length && (
        <small>{count(result.completions - result.samples.length, "more completion")}</small>
      )}
    </article>
  );
}

type Props = { comparison: JobComparison; prompt: string; split: ComparedSplit };

/** Completions of one prompt, a card per job; the cards of many jobs fold. */
export function JobCompletions({ comparison: { jobs, at }, prompt, split }: Props) {
  const [open, setOpen] = useState(false);
  const ids = jobs.map(({ id }) => id);
  const { data, error, refetch } = useQuery(comparedCompletionsQuery(ids, prompt, at, split));
  if (error && !data)
    return <Failure title="Could not load completions" error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonCard height={240} label="Loading completions" />;
  const labels = new Map(labelsOf(jobs).map((label, place) => [ids[place], label]));
  const listed = open ? data.results : data.results.slice(0, FOLDED);
  return (
    <div>
      <div className={styles.prompt}>
        <bdi>{data.prompt ?? "The text of this prompt is not stored."}</bdi>
        {data.answer !== null && (
          <p>
            Answer: <bdi>{data.answer}</bdi>
          </p>
        )}
      </div>
      <div className={styles.cards}>
        {listed.map((result) => (
          <Card key={result.job} result={result} name={labels.get(result.job) ?? result.job} split={split} />
        ))}
      </div>
      {data.results.length > FOLDED && (
        <Button variant="subtle" size="compact-sm" mt={8} aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show fewer" : `Show all ${count(data.results.length, "job")}`}
        </Button>
      )}
    </div>
  );
}

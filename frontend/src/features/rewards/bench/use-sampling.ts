import { useEffect, useRef, useState } from "react";
import { ApiError } from "@/api/client";
import { type SampleEvent, sampleError, sampleStream } from "@/api/playground";
import type { BenchCompletion, Case } from "./bench";

export type SampleOptions = { model: string; samples: number; temperature: number; maxTokens: number };
type Change = (key: string, edit: (old: BenchCompletion[]) => BenchCompletion[]) => void;

/** How often what has streamed in is shown: tokens come faster than anybody reads. */
const SHOW_MS = 120;

/** Completions of the base model, made now, appended to each row while they stream in. */
export function useSampling(change: Change) {
  const [message, setMessage] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const abort = useRef<AbortController>(null);
  const [running, setRunning] = useState(false);
  const latest = useRef(change);
  useEffect(() => {
    latest.current = change;
  });
  useEffect(() => () => abort.current?.abort(), []);

  const start = async (cases: readonly Case[], options: SampleOptions) => {
    const controller = new AbortController();
    abort.current = controller;
    setError(null);
    setRunning(true);
    setMessage("Waiting for the worker");
    const before = cases.map((one) => one.completions.length);
    const texts = cases.map(() => Array.from({ length: options.samples }, () => ""));
    const finished = cases.map(() => Array.from({ length: options.samples }, () => false));
    const show = (over = false) => {
      cases.forEach((one, p) => {
        const made = (texts[p] ?? []).map(
          (text, s): BenchCompletion => ({ text, from: "sampled", done: finished[p]?.[s] ?? false }),
        );
        const remaining = over
          ? made.filter(({ done, text }) => done || text !== "").map((m) => ({ ...m, done: true }))
          : made;
        latest.current(one.key, (old) => [...old.slice(0, before[p]), ...remaining]);
      });
    };
    const onEvent = (event: SampleEvent) => {
      const { prompt, sample } = event;
      if (event.type === "status") setMessage(event.message ?? null);
      if (event.type === "error") setError(sampleError(event));
      if (prompt == null || sample == null || texts[prompt]?.[sample] === undefined) return;
      setMessage(null);
      if (event.type === "delta") texts[prompt][sample] += event.text ?? "";
      if (event.type === "done") {
        texts[prompt][sample] = event.text ?? texts[prompt][sample];
        (finished[prompt] as boolean[])[sample] = true;
      }
    };
    show();
    const timer = setInterval(show, SHOW_MS);
    try {
      await sampleStream(
        {
          model: options.model,
          prompts: cases.map((one) => one.prompt),
          samples_per_prompt: options.samples,
          temperature: options.temperature,
          max_tokens: options.maxTokens,
          seed: Math.floor(Math.random() * 2 ** 31),
        },
        onEvent,
        controller.signal,
      );
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      setError(cause);
    } finally {
      clearInterval(timer);
      show(true);
      setMessage(null);
      setRunning(false);
    }
  };
  return { start, stop: () => abort.current?.abort(), running, message, error };
}

import { Button } from "@mantine/core";
import { useState } from "react";
import type { Preset } from "@/api/job-form";
import page from "@/components/FormPage.module.css";
import { Problems } from "@/components/Problems";
import { getAt, type JsonObject } from "@/lib/paths";
import { label } from "@/lib/spec-fields";
import { withPreset } from "../draft";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import { Section } from "../Section";
import method from "./Method.module.css";
import { PresetPanel } from "./PresetPanel";
import { PresetPicker } from "./PresetPicker";
import { usesRecipe, withoutRecipe } from "./preset-parts";

/** Slots that say something else than the preset does. */
export function useChangedSlots(): string[] {
  const { fields } = useForm();
  return fields
    .filter(
      ({ path, value, kind, fallback }) =>
        path.startsWith("algorithm.") &&
        path !== "algorithm.preset" &&
        path !== "algorithm.updates_per_step" &&
        kind !== "fixed" &&
        value !== undefined &&
        value !== fallback,
    )
    .map(({ path }) => label(path).toLowerCase());
}

/** Recommended presets and when to use them. A selected other one is added. */
const QUICK: readonly [string, string][] = [
  ["grpo", "The most widely used; start here."],
  ["dr_grpo", "If completions grow longer without improving."],
  ["dapo", "For long answers with right-or-wrong rewards."],
  ["gspo", "For mixture-of-experts models and long completions."],
];

/** Step four: how rewards become updates. */
export function MethodSection() {
  const { basis, draft, change, readOnly, byPath } = useForm();
  const { problems } = useField("algorithm.preset");
  const changed = useChangedSlots();
  const [open, setOpen] = useState(false);
  const id = getAt(draft, "algorithm.preset") ?? byPath.get("algorithm.preset")?.fallback;
  const chosen = basis.presets.find((one) => one.id === id);
  const choose = (next: Preset) =>
    change((old) => {
      const recipe = chosen?.recipe as JsonObject | undefined;
      return withPreset(recipe && usesRecipe(old, recipe) ? withoutRecipe(old, recipe) : old, next.id);
    });
  const quick = QUICK.flatMap(([name, when]) => {
    const preset = basis.presets.find((one) => one.id === name);
    return preset ? [{ preset, when }] : [];
  });
  if (chosen && !quick.some(({ preset }) => preset === chosen)) {
    quick.push({ preset: chosen, when: "Selected from all variants." });
  }
  return (
    <Section
      id="method"
      title="Method"
      about="A preset sets the four parts of the algorithm: shaping, selection, advantage and loss. You can change each under Advanced."
    >
      <div className={method.quick} id={fieldId("algorithm.preset")} tabIndex={-1}>
        {quick.map(({ preset, when }) => (
          <label key={preset.id} className={page.card}>
            <input
              type="radio"
              name="preset"
              value={preset.id}
              checked={preset === chosen}
              disabled={readOnly}
              onChange={() => choose(preset)}
            />
            <b>{preset.title}</b>
            <small>{when}</small>
          </label>
        ))}
      </div>
      {!readOnly && (
        <Button variant="default" w="fit-content" onClick={() => setOpen(true)}>
          All variants…
        </Button>
      )}
      <Problems problems={problems} />
      {chosen ? (
        <PresetPanel preset={chosen} changed={changed} />
      ) : (
        <p className={page.quiet}>
          No preset: the algorithm is as set under Advanced. Choosing a preset replaces it.
        </p>
      )}
      <PresetPicker
        opened={open}
        presets={basis.presets}
        chosen={chosen?.id ?? null}
        withTools={getAt(draft, "environment.type") === "tools"}
        onChoose={choose}
        onClose={() => setOpen(false)}
      />
    </Section>
  );
}

import { Button } from "@mantine/core";
import { Fragment, useMemo } from "react";
import type { Preset } from "@/api/job-form";
import { Path, Words } from "@/components/spec/Words";
import { number } from "@/lib/format";
import type { Json, JsonObject } from "@/lib/paths";
import { label } from "@/lib/spec-fields";
import { defaults } from "@/lib/spec-schema";
import { useForm } from "../form";
import { Confidence } from "./Confidence";
import styles from "./Method.module.css";
import { filled, recipeLines, usesRecipe, withoutRecipe, withRecipe } from "./preset-parts";

const figure = (value: Json) => {
  if (typeof value !== "number") return String(value);
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : number(value, 6);
};

function Fills({ preset }: { preset: Preset }) {
  const { schema } = useForm().basis;
  const parts = useMemo(() => filled(schema, defaults(schema, {}, {}), preset), [schema, preset]);
  if (parts.length === 0) return "Nothing: these are the defaults.";
  return (
    <ul className={styles.chips}>
      {parts.map(({ part, text }) => (
        <li key={part}>
          <span>
            <Path path={part} />
          </span>{" "}
          {text}
        </li>
      ))}
    </ul>
  );
}

function Recipe({ recipe }: { recipe: JsonObject }) {
  const { draft, change, readOnly } = useForm();
  const inUse = usesRecipe(draft, recipe);
  return (
    <>
      <ul className={styles.numbers}>
        {recipeLines(recipe).map(([path, value]) => (
          <li key={path}>
            {label(path)} <b>{figure(value)}</b>
          </li>
        ))}
      </ul>
      {!readOnly && (
        <Button
          variant="default"
          size="xs"
          onClick={() => change((old) => (inUse ? withoutRecipe : withRecipe)(old, recipe))}
        >
          {inUse ? "Reset these values" : "Use these values"}
        </Button>
      )}
    </>
  );
}

/** All that a person needs to judge the chosen preset. */
export function PresetPanel({ preset, changed }: { preset: Preset; changed: readonly string[] }) {
  const recipe = preset.recipe as JsonObject;
  return (
    <section className={styles.panel} aria-labelledby="method-chosen">
      <header>
        <h3 id="method-chosen">{preset.title}</h3>
        <code>{preset.id}</code>
        {changed.length > 0 && <em>changed: {changed.join(", ")}</em>}
      </header>
      <p>
        <Words text={preset.summary} />
      </p>
      <p className={styles.formula}>{preset.formula}</p>
      <dl>
        <dt>Source</dt>
        <dd>{preset.source}</dd>
        <dt>Confidence</dt>
        <dd>
          <Confidence level={preset.confidence} why />
        </dd>
        {preset.package && (
          <>
            <dt>Package</dt>
            <dd>{preset.package}</dd>
          </>
        )}
        {preset.needs.length > 0 && (
          <>
            <dt>Needs</dt>
            <dd>
              {preset.needs.map((need, i) => (
                <Fragment key={need}>
                  {i > 0 && "; "}
                  <Words text={need} />
                </Fragment>
              ))}
            </dd>
          </>
        )}
        {preset.learning && (
          <>
            <dt>Slow learning</dt>
            <dd>
              <Words text={preset.learning} />
            </dd>
          </>
        )}
        {preset.deviations.length > 0 && (
          <>
            <dt>Differences</dt>
            <dd>
              <ul className={styles.list}>
                {preset.deviations.map((text) => (
                  <li key={text}>
                    <Words text={text} />
                  </li>
                ))}
              </ul>
            </dd>
          </>
        )}
        <dt>Sets</dt>
        <dd>
          <Fills preset={preset} />
        </dd>
        {Object.keys(recipe).length > 0 && (
          <>
            <dt>As published</dt>
            <dd>
              <Recipe recipe={recipe} />
            </dd>
          </>
        )}
        {preset.rate_note && (
          <>
            <dt>Learning rate</dt>
            <dd>
              <Words text={preset.rate_note} />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

import { Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import page from "@/components/FormPage.module.css";
import { Path, Words } from "@/components/spec/Words";
import { count } from "@/lib/format";
import { rewardsOf } from "../draft";
import { LongField } from "../Field";
import field from "../Field.module.css";
import { fieldId } from "../focus";
import { useForm } from "../form";
import styles from "../NewJob.module.css";
import { CHOSEN_ABOVE, grouped, search } from "./advanced";

type Props = { open: boolean; onOpen: (open: boolean) => void };

/** Every field of the specification, generated from its schema. */
export function Advanced({ open, onOpen }: Props) {
  const { fields, draft, goTo } = useForm();
  const [query, setQuery] = useState("");
  const [changedOnly, setChangedOnly] = useState(false);
  const changed = fields.filter((one) => one.value !== undefined && one.kind !== "fixed");
  const matching = search(changedOnly ? changed : fields, query);
  const names = rewardsOf(draft).map((one) => one.name ?? "reward");
  return (
    <details className={styles.advanced} open={open} onToggle={(event) => onOpen(event.currentTarget.open)}>
      <summary>
        <h2>Advanced</h2>
        <span>
          {count(fields.length, "field")}, {changed.length} set
        </span>
      </summary>
      {open && (
        <>
          <div className={styles.filter}>
            <TextInput
              type="search"
              aria-label="Search the fields"
              placeholder="Search: clip, warmup, timeout …"
              value={query}
              onChange={(event) => setQuery(event.currentTarget.value)}
            />
            <Checkbox
              label="Only changed fields"
              checked={changedOnly}
              onChange={(event) => setChangedOnly(event.currentTarget.checked)}
            />
            <span role="status">{query && count(matching.length, "field")}</span>
          </div>
          {matching.length === 0 && (
            <p className={page.quiet}>
              {changedOnly && query === ""
                ? "No changed fields: the job uses all defaults."
                : `No field matches “${query}”.`}
            </p>
          )}
          {grouped(matching, names).map((group) => (
            <section key={group.key} className={styles.group} aria-label={`${group.title}: all fields`}>
              <h3>{group.title}</h3>
              {group.fields.map((one) => {
                const above = CHOSEN_ABOVE[one.path];
                return above ? (
                  <div key={one.path} className={field.long}>
                    <div className={field.name}>
                      <span>{one.label}</span>
                      <Path path={one.path} />
                    </div>
                    <button
                      type="button"
                      className={page.jump}
                      id={fieldId(one.path, "-all")}
                      onClick={() => goTo(one.path)}
                    >
                      {typeof one.value === "string" ? one.value : "Not selected"}
                    </button>
                    <div className={field.about}>
                      <Words text={`${one.description} Selected above.`} />
                    </div>
                  </div>
                ) : (
                  <LongField key={one.path} field={one} />
                );
              })}
            </section>
          ))}
        </>
      )}
    </details>
  );
}

import { Button } from "@mantine/core";
import type { PreflightSuggestion, PreflightReport as Report } from "@/api/preflights";
import { Histogram } from "@/components/Histogram";
import { Notice } from "@/components/Notice";
import { percent } from "@/lib/format";
import { setAt } from "@/lib/paths";
import { useForm } from "../form";
import styles from "./Preflight.module.css";
import { costs, groupShares, passBins, passSentence, suggestionText, VERDICTS } from "./preflight-words";

function Suggestion({ one }: { one: PreflightSuggestion }) {
  const { byPath, set, change, goTo, readOnly } = useForm();
  const field = byPath.get(one.field);
  const taken = (field?.value ?? field?.fallback) === one.value;
  const apply = () => {
    if (field) set(field, one.value);
    else change((old) => setAt(old, one.field, one.value));
    goTo(one.field);
  };
  return (
    <li>
      <p>
        <b>{field?.label ?? one.field}</b> {suggestionText(one)}
      </p>
      <p>{one.why}</p>
      {!readOnly && (
        <Button
          variant="default"
          size="compact-sm"
          disabled={taken}
          onClick={apply}
          aria-label={`Apply: ${field?.label ?? one.field} ${suggestionText(one)}`}
        >
          {taken ? "Applied" : "Apply"}
        </Button>
      )}
    </li>
  );
}

/** Groups by what they teach, as one bar and in words. */
function GroupBar({ groups }: { groups: Report["groups"] }) {
  const shares = groupShares(groups);
  const words = shares.map(({ label, share }) => `${percent(share)} ${label}`).join(", ");
  return (
    <figure className={styles.groups}>
      <b>Groups</b>
      <div className={styles.bar} role="img" aria-label={words}>
        {shares.map(
          ({ key, share }) => share > 0 && <i key={key} data-kind={key} style={{ flexGrow: share }} />,
        )}
      </div>
      <figcaption>
        {shares.map(({ key, label, share }) => (
          <span key={key}>
            <i data-kind={key} aria-hidden="true" />
            {label} {percent(share)}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** What a pre-flight found: whether to start, why not, what the base can, what the job costs, what to change. */
export function PreflightReport({ report }: { report: Report }) {
  const { sign, word, text } = VERDICTS[report.verdict];
  const { reasons, suggestions = [], notes = [] } = report;
  return (
    <div className={styles.report}>
      <p className={styles.verdict} data-verdict={report.verdict}>
        <span aria-hidden="true">{sign}</span>
        <b>{word}</b> {text}
      </p>
      {reasons.map((reason) => (
        <Notice
          key={reason.code}
          tone={reason.severity === "stop" ? "bad" : "warn"}
          title={VERDICTS[reason.severity].word}
        >
          {reason.message} {reason.hint}
        </Notice>
      ))}
      <div className={styles.charts}>
        <Histogram
          title="Groups by passing completions"
          unit={`of ${report.passes.per_group} completions pass`}
          what="groups"
          bins={passBins(report.passes)}
          name={(bin) => String(bin.low)}
          summary={passSentence(report.passes)}
        />
        <GroupBar groups={report.groups} />
      </div>
      <dl className={styles.facts}>
        {costs(report).map(({ name, text: value, note }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value}
              {note && <small>{note}</small>}
            </dd>
          </div>
        ))}
      </dl>
      {suggestions.length > 0 && (
        <section aria-label="Suggestions">
          <h3>Suggestions</h3>
          <ul className={styles.suggestions}>
            {suggestions.map((one) => (
              <Suggestion key={one.field} one={one} />
            ))}
          </ul>
        </section>
      )}
      {notes.map((note) => (
        <Notice key={note} tone="info" title="Note">
          {note}
        </Notice>
      ))}
    </div>
  );
}

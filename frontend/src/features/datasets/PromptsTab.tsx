import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { columnsOf, type Dataset, lengthsQuery, renderedQuery, useUpdateDataset } from "@/api/datasets";
import { modelsQuery } from "@/api/models";
import { LeaveGuard } from "@/components/LeaveGuard";
import { Notice } from "@/components/Notice";
import { toastDone } from "@/lib/toast";
import { Lengths } from "./Lengths";
import { PromptForm } from "./PromptForm";
import styles from "./PromptsTab.module.css";
import type { DatasetPlace, OnPlace } from "./place";
import { draftOf, faultOf, sameDraft, viewOf } from "./prompt-draft";
import { Rendered } from "./Rendered";

const PAGE = 5;
const MAX_ROWS = 2000;

type Props = { dataset: Dataset; refusal: string | null; place: DatasetPlace; onPlace: OnPlace };

/** Which columns play which part, with the prompts that come of it as the base model reads them. */
export default function PromptsTab({ dataset, refusal, place, onPlace }: Props) {
  const columns = useMemo(() => columnsOf(dataset), [dataset]);
  const stored = draftOf(dataset.prompt_view ?? {}, columns);
  const [draft, setDraft] = useState(stored);
  const update = useUpdateDataset(dataset.id);
  const models = useQuery(modelsQuery);
  const ready = models.data?.data.filter((model) => model.status === "ready") ?? [];
  const model = place.model ?? ready[0]?.id;

  const [settled] = useDebouncedValue(draft, 400);
  const fault = faultOf(draft, columns);
  const ask = model !== undefined && faultOf(settled, columns) === null;
  const view = viewOf(settled, columns);
  const offset = place.offset ?? 0;
  const rendered = useQuery({
    ...renderedQuery(dataset.id, { ...view, model: model ?? "", offset, limit: PAGE }),
    enabled: ask,
  });
  const lengths = useQuery({
    ...lengthsQuery(dataset.id, { ...view, model: model ?? "", max_rows: MAX_ROWS }),
    enabled: ask,
    placeholderData: keepPreviousData,
  });
  const changed = !sameDraft(draft, stored);
  const save = () =>
    update.mutate(
      { etag: dataset.etag, prompt_view: viewOf(draft, columns) },
      { onSuccess: () => toastDone("Saved. New jobs on this dataset use these prompt settings.") },
    );

  return (
    <div className={styles.columns}>
      <LeaveGuard unsaved={changed} what="The prompt settings have unsaved changes." />
      <PromptForm
        columns={columns}
        draft={draft}
        onChange={(change) => setDraft((old) => ({ ...old, ...change }))}
        fault={fault}
        changed={changed}
        refusal={refusal}
        saving={update.isPending}
        error={update.error}
        onSave={save}
        onReset={() => setDraft(stored)}
      />
      <div className={styles.results}>
        <div className={styles.model}>
          <h2>Rendered prompts</h2>
          <Select
            aria-label="Base model"
            size="xs"
            data={ready.map((one) => one.id)}
            value={model ?? null}
            onChange={(id) => onPlace({ model: id ?? undefined })}
            allowDeselect={false}
            placeholder="Base model"
          />
        </div>
        {models.data && ready.length === 0 ? (
          <Notice tone="info" title="No base model yet">
            Prompts are rendered with the chat template of a base model. <Link to="/models">Add a model</Link>
            .
          </Notice>
        ) : (
          <>
            <Rendered
              query={rendered}
              size={PAGE}
              offset={offset}
              stale={fault !== null}
              onOffset={(at) => onPlace({ offset: at || undefined })}
            />
            <Lengths
              query={lengths}
              model={model ?? ""}
              onRow={(row) => onPlace({ offset: row || undefined })}
            />
          </>
        )}
      </div>
    </div>
  );
}

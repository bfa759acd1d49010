import { Button, Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { jobListQuery } from "@/api/job-list";
import page from "@/components/FormPage.module.css";
import { Problems } from "@/components/Problems";
import { ago } from "@/lib/format";
import { getAt } from "@/lib/paths";
import { placeId, useSweepForm } from "./form";
import { readJobFile } from "./job-file";
import styles from "./NewSweep.module.css";

const TYPING_MS = 250;
const MOST_JOBS = 20;

type Props = { onJob: (id: string | undefined) => void };

function JobSearch({ onJob }: { onJob: (id: string) => void }) {
  const { readOnly } = useSweepForm();
  const [search, setSearch] = useState("");
  const [q] = useDebouncedValue(search.trim(), TYPING_MS);
  const jobs = useInfiniteQuery({
    ...jobListQuery(q ? { q } : {}, MOST_JOBS),
    refetchInterval: false,
    placeholderData: keepPreviousData,
  });
  const list = jobs.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Select
      id={placeId("job")}
      label="Job of this project"
      placeholder="Search by name"
      disabled={readOnly}
      searchable
      openOnFocus={false}
      searchValue={search}
      onSearchChange={setSearch}
      value={null}
      filter={({ options }) => options}
      data={list.map(({ id, name, created_at }) => ({ value: id, label: `${name} · ${ago(created_at)}` }))}
      nothingFoundMessage={jobs.isError ? jobs.error.message : jobs.data ? "No such job" : "Loading"}
      onChange={(id) => id && onJob(id)}
    />
  );
}

/** The job that all jobs of the sweep share. */
export function BaseSection({ onJob }: Props) {
  const { draft, set, problems, readOnly } = useSweepForm();
  const [error, setError] = useState<string | null>(null);
  const { base } = draft;
  const choose = (file: File | undefined) => {
    if (!file) return;
    readJobFile(file).then(
      (job) => {
        setError(null);
        set({ base: job });
        onJob(undefined);
      },
      (reason: Error) => setError(reason.message),
    );
  };
  const clear = () => {
    set({ base: null });
    onJob(undefined);
  };
  return (
    <section className={page.part} aria-labelledby="part-base">
      <h2 id="part-base">Job</h2>
      <p>All jobs of the sweep are copies of this job, except for the settings below.</p>
      {base ? (
        <div className={page.chosen} id={placeId("job")} tabIndex={-1}>
          {base.id ? (
            <Link to="/jobs/$id" params={{ id: base.id }}>
              {base.name}
            </Link>
          ) : (
            <b>{base.name}</b>
          )}
          <span>
            {[getAt(base.spec, "model"), getAt(base.spec, "algorithm.preset")].filter(Boolean).join(" · ")}
          </span>
          <Button variant="default" size="compact-sm" disabled={readOnly} onClick={clear}>
            Other job
          </Button>
        </div>
      ) : (
        <div className={styles.two}>
          <JobSearch
            onJob={(id) => {
              setError(null);
              onJob(id);
            }}
          />
          <div className={styles.fileField}>
            <span>Job file</span>
            <label className={page.file}>
              Choose a file
              <input
                className="visually-hidden"
                type="file"
                accept=".yaml,.yml,.json"
                disabled={readOnly}
                onChange={(event) => {
                  choose(event.currentTarget.files?.[0]);
                  // So that the same file can be chosen again once it is corrected.
                  event.currentTarget.value = "";
                }}
              />
            </label>
            <small>
              YAML or JSON. Use ids of datasets and rewards. For files on your machine, use the command line.
            </small>
          </div>
        </div>
      )}
      {error && <Problems problems={[{ message: error }]} />}
      <Problems problems={problems.get("job")} />
    </section>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Counts, countsQuery } from "@/api/project";
import { meQuery } from "@/api/session";
import { workersQuery } from "@/api/workers";
import { count } from "@/lib/format";
import { MOD } from "@/lib/platform";
import { NavIcon } from "./NavIcon";
import styles from "./Navigation.module.css";
import { ProjectSwitch } from "./ProjectSwitch";
import { ThemeSwitch } from "./ThemeSwitch";
import { workersLine } from "./workers";

type Room = { to: "/jobs" | "/datasets" | "/rewards" | "/models" | "/adapters"; label: string };

const ROOMS: (Room & { held: keyof Counts })[] = [
  { to: "/jobs", label: "Jobs", held: "jobs" },
  { to: "/datasets", label: "Datasets", held: "datasets" },
  { to: "/rewards", label: "Rewards", held: "rewards" },
  { to: "/models", label: "Models", held: "models" },
  { to: "/adapters", label: "Adapters", held: "adapters" },
];
const MORE = [
  { to: "/sweeps", label: "Sweeps" },
  { to: "/evaluations", label: "Evaluations" },
  { to: "/deployments", label: "Deployments" },
  { to: "/playground", label: "Playground" },
  { to: "/settings", label: "Settings" },
] as const;

function Workers() {
  const workers = useQuery(workersQuery);
  const line = workers.data
    ? workersLine(workers.data.data)
    : workers.isError
      ? "Worker status unknown."
      : "…";
  return (
    <div className={styles.workers} role="status">
      {line}
    </div>
  );
}

type Props = { onSearch: () => void; onHelp: () => void; onSignOut: () => void };

/** The project, its rooms with how much they hold, and who works at the foot. */
export function Navigation({ onSearch, onHelp, onSignOut }: Props) {
  const me = useQuery(meQuery).data;
  const counts = useQuery(countsQuery).data;
  return (
    <>
      <ProjectSwitch name={me?.project_name} />
      <button type="button" className={styles.search} onClick={onSearch}>
        Go to… <kbd>{MOD}K</kbd>
      </button>
      <Link to="/" className={styles.link} activeOptions={{ exact: true }}>
        <NavIcon room="/" />
        Start
      </Link>
      {ROOMS.map(({ to, label, held }) => (
        <Link key={to} to={to} className={styles.link}>
          <NavIcon room={to} />
          {label}
          {counts && (
            <span className={styles.count}>
              {held === "jobs" && counts.unfinished_jobs > 0 && (
                <i title={count(counts.unfinished_jobs, "unfinished job")}>
                  <span className="visually-hidden">{`${counts.unfinished_jobs} active of`}</span>
                </i>
              )}
              {counts[held]}
            </span>
          )}
        </Link>
      ))}
      <div className={styles.gap} />
      {MORE.map(({ to, label }) => (
        <Link key={to} to={to} className={styles.link}>
          <NavIcon room={to} />
          {label}
        </Link>
      ))}
      <div className={styles.foot}>
        <Workers />
        {me && (
          <span className={styles.who} title={`Signed in as ${me.name}, ${me.role}`}>
            {me.name}, {me.role}
          </span>
        )}
        <div className={styles.row}>
          <button type="button" className={styles.plain} onClick={onHelp}>
            <kbd>?</kbd> for shortcuts
          </button>
          <a className={styles.plain} href="/guide" target="_blank" rel="noreferrer">
            Guide
          </a>
        </div>
        <div className={styles.row}>
          <ThemeSwitch />
          <button type="button" className={styles.plain} onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </div>
    </>
  );
}

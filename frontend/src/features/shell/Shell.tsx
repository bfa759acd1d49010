import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { workersQuery } from "@/api/platform";
import { meQuery, useSignOut } from "@/api/session";
import { Brand } from "@/components/Brand";
import { count } from "@/lib/format";
import styles from "./Shell.module.css";
import { ThemeSwitch } from "./ThemeSwitch";

const ROOMS = [
  ["/jobs", "Jobs"],
  ["/datasets", "Datasets"],
  ["/rewards", "Rewards"],
  ["/models", "Models"],
  ["/adapters", "Adapters"],
] as const;

/** "1 worker online · jail: namespaces", or what is missing and how to start it. */
export function workersLine(workers: readonly Schemas["WorkerInfo"][]): string {
  const online = workers.filter((worker) => worker.online);
  const trainers = online.filter((worker) => worker.kind === "trainer");
  const jails = [...new Set(online.flatMap((worker) => worker.jail ?? []))];
  if (online.length === 0) return "No worker online: jobs wait. Start one with `reinforge up`.";
  const jail = jails.length > 0 ? `jail: ${jails.join(", ")}` : "no jail: rewards are refused";
  return `${count(trainers.length, "worker")} online · ${jail}`;
}

/** The frame: navigation at the left, the screen beside it. */
export function Shell() {
  const me = useQuery(meQuery).data;
  const workers = useQuery(workersQuery);
  const signOut = useSignOut();
  const navigate = useNavigate();
  const leave = () => signOut.mutate(undefined, { onSuccess: () => void navigate({ to: "/sign-in" }) });

  return (
    <div className={styles.app}>
      <a className={styles.skip} href="#main">
        Skip to the content
      </a>
      <nav className={styles.nav} aria-label="Main">
        <div className={styles.brand}>
          <Brand />
        </div>
        <div className={styles.project} title="Project">
          {me?.project_name ?? "…"}
        </div>
        {ROOMS.map(([to, label]) => (
          <Link key={to} to={to} className={styles.link}>
            {label}
          </Link>
        ))}
        <div className={styles.foot}>
          <div className={styles.workers} role="status">
            {workers.isError
              ? "The server does not answer."
              : workers.data
                ? workersLine(workers.data.data)
                : "…"}
          </div>
          <div className={styles.row}>
            <ThemeSwitch />
            <button
              type="button"
              className={styles.out}
              onClick={leave}
              title={`Signed in as ${me?.name ?? "…"}`}
            >
              Sign out
            </button>
          </div>
        </div>
      </nav>
      <main id="main" className={styles.main} tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

import { useDisclosure } from "@mantine/hooks";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useEffect } from "react";
import { useAccess } from "@/api/access";
import { useSignOut } from "@/api/session";
import { Brand } from "@/components/Brand";
import { listenForShortcuts, useShortcuts } from "@/lib/shortcuts";
import { Navigation } from "./Navigation";
import { OfflineBanner } from "./OfflineBanner";
import styles from "./Shell.module.css";

const Palette = lazy(() => import("./Palette"));
const KeyHelp = lazy(() => import("./KeyHelp"));

const SEARCH = <path d="M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10Zm3.6-1.4L16 16" />;
const BARS = <path d="M2 4.5h14M2 9h14M2 13.5h14" />;
const CROSS = <path d="m4 4 10 10M14 4 4 14" />;

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" fill="none" stroke="currentColor" strokeWidth="1.6">
      {children}
    </svg>
  );
}

/** The frame: navigation at the left (above, behind a button, where it is narrow), the screen beside it. */
export function Shell() {
  const [searching, search] = useDisclosure(false);
  const [helping, help] = useDisclosure(false);
  const [open, menu] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { refusal } = useAccess();
  const signOut = useSignOut();
  const navigate = useNavigate();
  const leave = () => signOut.mutate(undefined, { onSuccess: () => void navigate({ to: "/sign-in" }) });

  useEffect(() => listenForShortcuts(window), []);
  useShortcuts("everywhere", {
    "mod+k": search.toggle,
    "?": help.open,
    c: refusal ? undefined : () => void navigate({ to: "/jobs/new" }),
  });
  // The menu has done its work when another screen is there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path is the trigger
  useEffect(menu.close, [path]);

  return (
    <div className={styles.app}>
      <a className={styles.skip} href="#main">
        Skip to content
      </a>
      <nav
        className={styles.side}
        aria-label="Main"
        onKeyDown={(event) => event.key === "Escape" && menu.close()}
      >
        <div className={styles.brand}>
          <Link to="/" aria-label="Reinforge, start page">
            <Brand />
          </Link>
          <div className={styles.tools}>
            <button type="button" aria-label="Go to…" onClick={search.open}>
              <Icon>{SEARCH}</Icon>
            </button>
            <button
              type="button"
              aria-label="Menu"
              aria-expanded={open}
              aria-controls="menu"
              onClick={menu.toggle}
            >
              <Icon>{open ? CROSS : BARS}</Icon>
            </button>
          </div>
        </div>
        <div id="menu" className={styles.menu} data-open={open || undefined}>
          <Navigation onSearch={search.open} onHelp={help.open} onSignOut={leave} />
        </div>
      </nav>
      <main id="main" className={styles.main} tabIndex={-1}>
        <Outlet />
      </main>
      <OfflineBanner />
      <Suspense>
        {searching && <Palette onClose={search.close} onHelp={help.open} onSignOut={leave} />}
        {helping && <KeyHelp onClose={help.close} />}
      </Suspense>
    </div>
  );
}

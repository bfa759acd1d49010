import { useServerAway } from "@/api/connection";
import styles from "./Shell.module.css";

/** Says that the server does not answer, and goes by itself when it does. */
export function OfflineBanner() {
  const away = useServerAway();
  return (
    <div className={styles.away} role="status">
      {away && (
        <>
          <b>The server does not respond.</b>
          <span>Data may be outdated. Retrying every 2 s.</span>
        </>
      )}
    </div>
  );
}

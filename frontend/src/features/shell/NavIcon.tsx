import styles from "./Navigation.module.css";

/** Lines in a square of 16. */
const PATHS = {
  "/": "M2.5 7.2 8 2.5l5.5 4.7M4 6.2v7.3h8V6.2M6.7 13.5V9.6h2.6v3.9",
  "/jobs": "M2 2.5v11h12M4.5 10.5 7 7.2l2.4 1.7L13.5 4",
  "/datasets":
    "M3 4c0-1 2.2-1.7 5-1.7s5 .7 5 1.7-2.2 1.7-5 1.7S3 5 3 4ZM3 4v8c0 1 2.2 1.7 5 1.7s5-.7 5-1.7V4M3 8c0 1 2.2 1.7 5 1.7s5-.7 5-1.7",
  "/rewards": "M8 1.9l1.8 3.8 4.2.5-3.1 2.9.8 4.1L8 11.2l-3.7 2 .8-4.1L2 6.2l4.2-.5Z",
  "/models": "M8 1.8 13.5 5v6L8 14.2 2.5 11V5ZM2.5 5 8 8.2 13.5 5M8 8.2v6",
  "/adapters": "M8 2 14 5 8 8 2 5ZM2 8l6 3 6-3M2 11l6 3 6-3",
  "/sweeps": "M3.5 2v4M3.5 9v5M8 2v6.5M8 11.5V14M12.5 2v2M12.5 7v7M1.8 7.5h3.4M6.3 10h3.4M10.8 5.5h3.4",
  "/evaluations": "M3 3h10v11H3ZM6 1.8h4v2.4H6ZM5.5 9l1.8 1.8 3.2-3.6",
  "/deployments": "M8 10V2.2M5 5l3-3 3 3M2.5 9v4.5h11V9",
  "/playground": "M2 3h12v8H7.5L4.5 13.7V11H2ZM5 6h6M5 8.3h4",
  "/settings":
    "M8 5.7a2.3 2.3 0 1 0 0 4.6 2.3 2.3 0 0 0 0-4.6ZM8 1.8v1.7M8 12.5v1.7M1.8 8h1.7M12.5 8h1.7M3.6 3.6l1.2 1.2M11.2 11.2l1.2 1.2M12.4 3.6l-1.2 1.2M4.8 11.2l-1.2 1.2",
} as const;

export function NavIcon({ room }: { room: keyof typeof PATHS }) {
  return (
    <svg className={styles.icon} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[room]} />
    </svg>
  );
}

import styles from "./Skeleton.module.css";

type Props = { width?: number | string; height?: number };

/** Holds the place of something that loads: as tall as what comes, so that nothing moves. */
export function Skeleton({ width = "100%", height = 12 }: Props) {
  return <span className={styles.bone} style={{ width, height }} aria-hidden="true" aria-busy="true" />;
}

/** A card of `height` px that is still empty; says once that it loads. */
export function SkeletonCard({ height, label = "Loading" }: { height: number; label?: string }) {
  return (
    <div className={styles.card} style={{ height }} role="status" aria-label={label} aria-busy="true">
      <Skeleton width="32%" height={14} />
      <Skeleton width="64%" />
      <Skeleton width="48%" />
    </div>
  );
}

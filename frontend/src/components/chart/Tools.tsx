import { Menu } from "@mantine/core";
import styles from "./Chart.module.css";

type Props = {
  title: string;
  asTable: boolean;
  onTable: () => void;
  log: boolean;
  /** Absent where all charts are logarithmic. */
  onLog: (() => void) | undefined;
  onMaximise: (() => void) | undefined;
  pin: { isPinned: boolean; onToggle: () => void } | undefined;
  onCsv: () => void;
  onPicture: () => void;
};

const ICON = { width: 14, height: 14, viewBox: "0 0 14 14", fill: "none", stroke: "currentColor" };

/** What can be done with one chart: numbers as a table, log axis, files, a larger view. */
export function Tools({ title, asTable, onTable, log, onLog, onMaximise, pin, onCsv, onPicture }: Props) {
  return (
    <>
      <button
        type="button"
        className={styles.tool}
        aria-pressed={asTable}
        aria-label={`${title} as a table`}
        title={asTable ? "Show chart" : "Show as table"}
        onClick={onTable}
      >
        <svg {...ICON} aria-hidden="true">
          <rect x="1.5" y="2.5" width="11" height="9" rx="1.5" />
          <path d="M1.5 5.5h11M1.5 8.5h11M6 5.5v6" />
        </svg>
      </button>
      <Menu position="bottom-end" width={210} shadow="sm" withinPortal>
        <Menu.Target>
          <button type="button" className={styles.tool} aria-label={`More for ${title}`} title="More">
            <svg {...ICON} aria-hidden="true" fill="currentColor" stroke="none">
              <circle cx="2.5" cy="7" r="1.2" />
              <circle cx="7" cy="7" r="1.2" />
              <circle cx="11.5" cy="7" r="1.2" />
            </svg>
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {onMaximise && <Menu.Item onClick={onMaximise}>Enlarge</Menu.Item>}
          {pin && <Menu.Item onClick={pin.onToggle}>{pin.isPinned ? "Unpin" : "Pin to the top"}</Menu.Item>}
          <Menu.Item onClick={onLog} disabled={!onLog}>
            {onLog ? (log ? "Linear axis" : "Log axis") : "Log axis (set for all charts)"}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={onCsv}>Download as CSV</Menu.Item>
          <Menu.Item onClick={onPicture} disabled={asTable}>
            Download as PNG
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

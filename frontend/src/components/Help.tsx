import { Popover } from "@mantine/core";
import styles from "./Help.module.css";

type Props = {
  /** Of what: "Entropy". */
  title: string;
  text: string;
  /** Address in the guide. */
  guide: string;
};

/** A "?" that opens an explanation with a link to the guide, for mouse, keyboard and touch. */
export function Help({ title, text, guide }: Props) {
  return (
    <Popover width={280} position="bottom" shadow="sm" trapFocus returnFocus withinPortal>
      <Popover.Target>
        <button type="button" className={styles.mark} aria-label={`About ${title}`} />
      </Popover.Target>
      <Popover.Dropdown className={styles.text} aria-label={`About ${title}`}>
        <b>{title}</b>
        <p>{text}</p>
        <a href={guide} target="_blank" rel="noreferrer">
          Read more in the guide
        </a>
      </Popover.Dropdown>
    </Popover>
  );
}

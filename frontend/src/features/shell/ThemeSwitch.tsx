import { type MantineColorScheme, useMantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";
import styles from "./Navigation.module.css";

const CHOICES: [MantineColorScheme, string, ReactNode][] = [
  [
    "light",
    "Light theme",
    <g key="light">
      <circle cx="7" cy="7" r="2.6" />
      <path d="M7 1v1.6M7 11.4V13M1 7h1.6M11.4 7H13M2.8 2.8l1.1 1.1M10.1 10.1l1.1 1.1M11.2 2.8l-1.1 1.1M3.9 10.1l-1.1 1.1" />
    </g>,
  ],
  ["dark", "Dark theme", <path key="dark" d="M11.8 8.6A5 5 0 0 1 5.4 2.2a5 5 0 1 0 6.4 6.4Z" />],
  [
    "auto",
    "System theme",
    <g key="auto">
      <rect x="1.5" y="2.5" width="11" height="7.5" rx="1" />
      <path d="M5 12.5h4" />
    </g>,
  ],
];

export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <fieldset className={styles.theme} style={{ margin: 0, padding: 0 }}>
      <legend className="visually-hidden">Theme</legend>
      {CHOICES.map(([choice, label, icon]) => (
        <button
          key={choice}
          type="button"
          aria-label={label}
          title={label}
          aria-pressed={colorScheme === choice}
          onClick={() => setColorScheme(choice)}
        >
          <svg
            width="14"
            height="14"
            viewBox="0 0 14 14"
            fill="none"
            stroke="currentColor"
            aria-hidden="true"
          >
            {icon}
          </svg>
        </button>
      ))}
    </fieldset>
  );
}

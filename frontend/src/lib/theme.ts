import { createTheme, localStorageColorSchemeManager, type MantineColorsTuple } from "@mantine/core";

/** The same key as in public/theme.js, which sets the theme before the first paint. */
export const colorScheme = localStorageColorSchemeManager({ key: "reinforge-theme" });

// Index 6 is the accent in light, 4 in dark; the tokens in styles/tokens.css have the same two.
const ACCENT: MantineColorsTuple = [
  "#eef2ff",
  "#dbe4ff",
  "#bac8ff",
  "#a5b4fc",
  "#91a7ff",
  "#5c7cfa",
  "#3b5bdb",
  "#364fc7",
  "#2f44ad",
  "#27378f",
];

/** Buttons inside rows and fields, in px; all others are as tall as the fields beside them. */
const HEIGHTS: Record<string, number> = { "compact-xs": 24, "compact-sm": 28, "compact-md": 30 };

export const theme = createTheme({
  primaryColor: "accent",
  primaryShade: { light: 6, dark: 4 },
  autoContrast: true,
  colors: { accent: ACCENT },
  fontFamily: '"Inter Variable", system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: "12.5px", sm: "14px", md: "14px" },
  lineHeights: { sm: "20px", md: "20px" },
  defaultRadius: 8,
  radius: { sm: "6px", md: "8px", lg: "10px" },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Button: {
      defaultProps: { size: "sm", variant: "filled" },
      styles: (_theme: unknown, props: { size?: unknown }) => ({
        root: { height: HEIGHTS[String(props.size)] ?? 36, fontWeight: 550 },
      }),
    },
    Modal: {
      defaultProps: {
        radius: 10,
        centered: true,
        closeButtonProps: { "aria-label": "Close" },
        overlayProps: { backgroundOpacity: 0.4 },
        transitionProps: { duration: 120 },
      },
    },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    // What is chosen stays chosen when it is pressed again; a field that may be empty has a cross.
    Select: { defaultProps: { allowDeselect: false } },
    // A focusable element without a role of its own is no child that a menu may have.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Tooltip: { defaultProps: { openDelay: 300, transitionProps: { duration: 100 } } },
  },
});

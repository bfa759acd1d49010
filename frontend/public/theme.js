// Runs before the first paint, so that a dark page never flashes white. The same key as in src/lib/theme.ts.
(() => {
  let choice = "auto";
  try {
    choice = localStorage.getItem("reinforge-theme") || "auto";
  } catch {
    // Storage is refused (private mode): follow the system.
  }
  const dark = choice === "dark" || (choice === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();

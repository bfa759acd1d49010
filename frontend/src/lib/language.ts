/**
 * The language itself, or one that `Intl` knows.
 *
 * A browser under a POSIX locale calls its language `en-US@posix`, which `Intl` refuses. Libraries that format numbers
 * with `navigator.language` as they load (the charts' does) would then fail as a whole.
 */
export function usableLanguage(language: string): string {
  const plain = language.split(/[@.]/, 1)[0]?.replace("_", "-") ?? "";
  return [language, plain].find(isKnown) ?? "en-US";
}

function isKnown(language: string): boolean {
  try {
    new Intl.NumberFormat(language);
    return language !== "";
  } catch {
    return false;
  }
}

/** Replaces `navigator.language` by a usable one. Call it before a library that formats numbers loads. */
export function replaceUnknownLanguage(): void {
  const usable = usableLanguage(navigator.language);
  if (usable !== navigator.language) {
    Object.defineProperty(navigator, "language", { value: usable, configurable: true });
  }
}

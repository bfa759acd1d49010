/** What keeps reward code in its place on a worker, by the letter that workers report. */
const JAILS: Record<string, string> = { N: "namespaces", L: "Landlock" };

export const jailName = (letter: string): string => JAILS[letter] ?? letter;

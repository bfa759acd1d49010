import { lazyRouteComponent } from "@tanstack/react-router";

/** The code of a screen could not be loaded: no connection, or the server has a newer page. */
export class CodeMissing extends Error {
  constructor(cause: unknown) {
    super("Could not load the code of this screen. Reload the page.", { cause });
    this.name = "CodeMissing";
  }
}

/** Whether that is what an error says, of a screen or of a part that is fetched when it is wanted. */
export const lacksCode = (error: unknown): boolean =>
  error instanceof CodeMissing ||
  (error instanceof Error && /dynamically imported module|module script|preload CSS/.test(error.message));

/**
 * A screen whose code is fetched when it is wanted. The router by itself would answer a missing module by reloading,
 * which ends on the browser's own error page when the server is away.
 */
// biome-ignore lint/suspicious/noExplicitAny: as the router's own type has it
export const screen = <Module extends Record<string, any>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) =>
  lazyRouteComponent(
    () =>
      load().catch((cause: unknown) => {
        throw new CodeMissing(cause);
      }),
    name,
  );

import { useRef } from "react";

/**
 * Lets one act through at a time, from the press on: a second press can come before the page has drawn that it is
 * busy, and would make a second thing of what the act makes.
 */
export function singleFlight(): (act: () => Promise<unknown>) => Promise<void> {
  let busy = false;
  return async (act) => {
    if (busy) return;
    busy = true;
    try {
      await act();
    } finally {
      busy = false;
    }
  };
}

/** `singleFlight` for as long as the component is there. */
export function useSingleFlight() {
  const flight = useRef<ReturnType<typeof singleFlight>>(undefined);
  flight.current ??= singleFlight();
  return flight.current;
}

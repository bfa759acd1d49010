import { type RefObject, useEffect, useState } from "react";

/** Within about a screen's third of being seen: drawn before it is scrolled to, let go of after. */
const MARGIN = "300px";

/** One callback can bring several changes of an element: the last one is how it is now. */
export const isNear = (entries: readonly { isIntersecting: boolean }[]): boolean =>
  entries.at(-1)?.isIntersecting ?? false;

/** Whether an element is in view or about to be. */
export function useNear(ref: RefObject<Element | null>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new IntersectionObserver((entries) => setNear(isNear(entries)), { rootMargin: MARGIN });
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return near;
}

import { type RefObject, useEffect, useState } from "react";

/** Whether the element has been near the viewport: true for good from then on, so that nothing is loaded twice. */
export function useSeen(element: RefObject<Element | null>): boolean {
  const [inView, setInView] = useState(false);
  useEffect(() => {
    if (inView || !element.current) return;
    const observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && setInView(true),
      { rootMargin: "120px" },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [inView, element]);
  return inView;
}

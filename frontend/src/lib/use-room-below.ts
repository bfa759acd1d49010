import { type RefObject, useLayoutEffect, useState } from "react";

/** Pixels from the top of an element to the end of the window less `reserved`, so that only the element scrolls. */
export function useRoomBelow(
  element: RefObject<HTMLElement | null>,
  reserved: number,
  least: number,
): number {
  const [room, setRoom] = useState(least);
  useLayoutEffect(() => {
    const measure = () => {
      if (!element.current) return;
      const top = element.current.getBoundingClientRect().top + window.scrollY;
      setRoom(Math.max(least, Math.floor(window.innerHeight - top - reserved)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    window.addEventListener("resize", measure);
    return () => {
      observer.disconnect();
      window.removeEventListener("resize", measure);
    };
  });
  return room;
}

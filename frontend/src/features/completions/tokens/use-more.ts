import { useIntersection } from "@mantine/hooks";
import { useEffect, useState } from "react";

/** Draws a long row of things piece by piece: more of it each time its end (`sentinel`) comes into view. */
export function useMore(total: number, piece: number) {
  const [wanted, setWanted] = useState(piece);
  const { ref: sentinel, entry } = useIntersection({ rootMargin: "400px" });
  const shown = Math.min(wanted, total);
  const atEnd = entry?.isIntersecting === true;
  useEffect(() => {
    if (atEnd && shown < total) setWanted(shown + piece);
  }, [atEnd, shown, total, piece]);
  const showTo = (index: number) => {
    if (index >= wanted) setWanted(index + piece);
  };
  return { shown, showTo, sentinel };
}

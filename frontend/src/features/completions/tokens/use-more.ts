import { useIntersection } from "@mantine/hooks";
import { useEffect, useState } from "react";

/** Draws a long row of things piece by piece: more of it each time its end (`sentinel`) comes into view. */
export function useMore(total: number, piece: number) {
  const [limit, setLimit] = useState(piece);
  const { ref: sentinel, entry } = useIntersection({ rootMargin: "400px" });
  const visible = Math.min(limit, total);
  const atEnd = entry?.isIntersecting === true;
  useEffect(() => {
    if (atEnd && visible < total) setLimit(visible + piece);
  }, [atEnd, visible, total, piece]);
  const showTo = (index: number) => {
    if (index >= limit) setLimit(index + piece);
  };
  return { visible, showTo, sentinel };
}

/** The keyboard of a review. Keys that are typed into a field, or pressed on a button or a link, keep their own meaning. */
import { useEffect, useRef } from "react";

interface Acts {
  digit: (digit: number) => void;
  move: (by: 1 | -1) => void;
  next: () => void;
  skip: () => void;
}

export function useReviewKeys(acts: Acts): void {
  const now = useRef(acts);
  useEffect(() => {
    now.current = acts;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof HTMLElement)) return;
      if (target.closest("input, textarea, select, [role=dialog], [role=menu]")) return;
      const { digit, move, next, skip } = now.current;
      if (/^\d$/.test(key)) digit(Number(key));
      else if (key === "ArrowDown") move(1);
      else if (key === "ArrowUp") move(-1);
      else if (key === "Enter" && !target.closest("button, a")) next();
      else if (key === "s") skip();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

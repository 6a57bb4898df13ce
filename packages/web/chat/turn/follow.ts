/** Follows the end of a growing log, and stops as soon as the user does anything else. */
import { type RefCallback, useCallback, useEffect, useRef, useState } from "react";

const NEAR = 40;

export interface Follow {
  /** For the element that scrolls. */
  scroller: RefCallback<HTMLElement>;
  /** For the element in it that grows. */
  content: RefCallback<HTMLElement>;
  following: boolean;
  toEnd: () => void;
}

export function useFollow(): Follow {
  const [box, setBox] = useState<HTMLElement | null>(null);
  const [inner, setInner] = useState<HTMLElement | null>(null);
  const [following, setFollowing] = useState(true);
  const follows = useRef(true);
  const set = useCallback((next: boolean) => {
    follows.current = next;
    setFollowing(next);
  }, []);

  useEffect(() => {
    if (!box || !inner) return;
    let top = box.scrollTop;
    const end = () => {
      box.scrollTop = box.scrollHeight;
      top = box.scrollTop;
    };
    const grown = new ResizeObserver(() => {
      if (follows.current) end();
    });
    grown.observe(inner);
    grown.observe(box);
    const letGo = () => set(false);
    const near = () => box.scrollHeight - box.scrollTop - box.clientHeight <= NEAR;
    const onScroll = () => {
      if (box.scrollTop < top - 1 && !near()) letGo();
      else if (near()) set(true);
      top = box.scrollTop;
    };
    const onWheel = (event: WheelEvent) => {
      if (event.deltaY < 0 && box.scrollHeight > box.clientHeight) letGo();
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "PageUp" || event.key === "Home" || event.key === "ArrowUp") letGo();
    };
    const onSelect = () => {
      const selection = document.getSelection();
      if (selection && !selection.isCollapsed && selection.anchorNode && inner.contains(selection.anchorNode)) letGo();
    };
    box.addEventListener("scroll", onScroll, { passive: true });
    box.addEventListener("wheel", onWheel, { passive: true });
    box.addEventListener("touchmove", letGo, { passive: true });
    box.addEventListener("keydown", onKey);
    document.addEventListener("selectionchange", onSelect);
    return () => {
      grown.disconnect();
      box.removeEventListener("scroll", onScroll);
      box.removeEventListener("wheel", onWheel);
      box.removeEventListener("touchmove", letGo);
      box.removeEventListener("keydown", onKey);
      document.removeEventListener("selectionchange", onSelect);
    };
  }, [box, inner, set]);

  const toEnd = useCallback(() => {
    set(true);
    if (box) box.scrollTop = box.scrollHeight;
  }, [box, set]);
  return { scroller: setBox, content: setInner, following, toEnd };
}

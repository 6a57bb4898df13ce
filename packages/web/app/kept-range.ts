import { useEffect } from "react";
import { useLocation, useSearch } from "wouter";
import { keepRange } from "../resources/range.ts";
import { viewAt } from "./routes.tsx";

/** The range of the last view that has one. */
let last = "";

/** The part of an address that the next view with a time range takes along, over views without one. */
export function useKeptRange(): string {
  const [path] = useLocation();
  const own = keepRange(useSearch());
  const view = viewAt(path);
  // An item of a list may be opened without the range of the list.
  const isShown = view?.ranged === true && (own !== "" || path === view.path);
  useEffect(() => {
    if (isShown) last = own;
  }, [isShown, own]);
  return isShown ? own : last;
}

import { useSyncExternalStore } from "react";

/** The pointer is a finger: bigger targets, and Enter breaks the line. */
export const coarse = matchMedia("(pointer: coarse)").matches;

/** The colours of the page for what CSS cannot colour: canvases, and pictures drawn elsewhere. */
export type Scheme = "light" | "dark";

const DARK = "(prefers-color-scheme: dark)";

/** The scheme in use: the one chosen, or the system's. */
const current = (): Scheme =>
  (document.documentElement.dataset.theme ?? (matchMedia(DARK).matches ? "dark" : "light")) === "dark"
    ? "dark"
    : "light";

export const useScheme = (): Scheme => useSyncExternalStore(subscribe, current);

function subscribe(changed: () => void): () => void {
  const system = matchMedia(DARK);
  system.addEventListener("change", changed);
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    system.removeEventListener("change", changed);
    observer.disconnect();
  };
}

/** The colour of a token such as `--water` in the scheme in use, as `rgb(…)`. */
export function readInk(token: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

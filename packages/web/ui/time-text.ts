/** Texts that change as time passes, such as "5 min ago". */
import { useSyncExternalStore } from "react";

/** Milliseconds between two looks at the clock. The shortest step of a text is a minute. */
const LOOK_EVERY = 10_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const one of listeners) one();
  }, LOOK_EVERY);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The text as it is now. The component is drawn again only when the text has changed. */
export const useTimeText = (text: () => string): string => useSyncExternalStore(subscribe, text);

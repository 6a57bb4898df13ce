/** Times in tables and lists. The tooltip has the exact time. */
import { agoTime, exactTime, soonTime } from "./time.ts";
import { useSyncExternalStore } from "react";

/** A past time: short in a list, or exact. Renders nothing without a time. */
export function Time({ at, exact = false }: { at: string | null | undefined; exact?: boolean }) {
  const text = useTimeText(() => (!at ? "" : exact ? exactTime(at) : agoTime(at)));
  if (!at) return null;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {text}
    </time>
  );
}

/** A future time: day and clock. */
export function Ahead({ at }: { at: string | null }) {
  if (at === null) return null;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {soonTime(at)}
    </time>
  );
}

// Texts that change as time passes, such as "5 min ago".

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

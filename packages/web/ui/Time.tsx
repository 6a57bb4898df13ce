/** Times in tables and lists. The tooltip has the exact time. */
import { agoTime, exactTime, soonTime } from "./time.ts";
import { useTimeText } from "./time-text.ts";

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

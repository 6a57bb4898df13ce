/** Times in tables and lists. The tooltip has the exact time. */
import { agoTime, exactTime, soonTime } from "../ui/time.ts";

/** A past time: short in a list, or exact. Renders nothing without a time. */
export function Time({ at, exact = false }: { at: string | null | undefined; exact?: boolean }) {
  if (!at) return null;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {exact ? exactTime(at) : agoTime(at)}
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

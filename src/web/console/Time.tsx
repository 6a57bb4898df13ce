import { exactTime, shortTime } from "../ui/time.ts";

/** A moment in few characters, exact in its tooltip. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {shortTime(at)}
    </time>
  );
}

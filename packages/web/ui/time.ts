/** Times in words. `Intl` does the work. */
import { dates } from "./intl.ts";

const clock = dates({ hour: "numeric", minute: "2-digit" });
const day = dates({ day: "numeric", month: "short" });
const exact = dates({ dateStyle: "medium", timeStyle: "medium" });
const soon = dates({ day: "numeric", month: "short", hour: "numeric", minute: "2-digit" });
const second = dates({ hour: "numeric", minute: "2-digit", second: "2-digit" });
const month = dates({ month: "long", year: "numeric" });

const MINUTE = 60_000;

/** "now", "5 min", "10:41" today, "18 Nov" before. */
export function shortTime(iso: string, now = Date.now()): string {
  const at = new Date(iso);
  const ago = now - at.getTime();
  if (ago < MINUTE) return "now";
  if (ago < 60 * MINUTE) return `${Math.floor(ago / MINUTE)} min`;
  return at.toDateString() === new Date(now).toDateString() ? clock.format(at) : day.format(at);
}

/** The same for a column of times: "5 min ago". */
export function agoTime(iso: string): string {
  const short = shortTime(iso);
  return short.endsWith(" min") ? `${short} ago` : short;
}

export const clockTime = (iso: string) => clock.format(new Date(iso));

export const exactTime = (iso: string) => exact.format(new Date(iso));

/** "18 Nov, 10:41". */
export const soonTime = (at: string | number) => soon.format(new Date(at));

/** "10:41:03" today, "18 Nov, 10:41" before: for a column that distinguishes rows. */
export function momentText(iso: string, now = Date.now()): string {
  const at = new Date(iso);
  return (at.toDateString() === new Date(now).toDateString() ? second : soon).format(at);
}

/** "Today", "Yesterday", or the month. */
export function dayGroup(iso: string, now = Date.now()): string {
  const at = new Date(iso).toDateString();
  if (at === new Date(now).toDateString()) return "Today";
  if (at === new Date(now - 24 * 60 * MINUTE).toDateString()) return "Yesterday";
  return month.format(new Date(iso));
}

/** The value of a `datetime-local` field, which is in the browser's time zone and has no seconds. */
export function localTime(ms: number): string {
  const at = new Date(ms);
  return new Date(ms - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

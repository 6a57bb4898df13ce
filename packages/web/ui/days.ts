/** Times that only the console shows: those that are to come, and days of UTC. */
import { dates } from "./intl.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const weekday = dates({ weekday: "short", hour: "numeric", minute: "2-digit" });
const day = dates({ day: "numeric", month: "short", year: "numeric" });
const full = dates({
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "numeric",
  minute: "2-digit",
});

const utcDay = dates({ day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const utcMonth = dates({ month: "long", year: "numeric", timeZone: "UTC" });

/** "12 Nov 2026", the day in UTC. */
export const dayText = (iso: string) => utcDay.format(new Date(iso));

/** "November 2026", of "2026-11". */
export const monthText = (yearMonth: string) => utcMonth.format(new Date(`${yearMonth}-01T00:00:00Z`));

/** "Mon, 23 Nov, 09:00". */
export const fullTime = (iso: string) => full.format(new Date(iso));

/** "in 5 min", "in 5 h" within a day, "Thu 14:00" within six days, "18 Nov 2026" later. */
export function untilText(iso: string, now = Date.now()): string {
  const at = new Date(iso);
  const left = at.getTime() - now;
  if (left < MINUTE) return "now";
  if (left < HOUR) return `in ${Math.floor(left / MINUTE)} min`;
  if (left < 24 * HOUR) return `in ${Math.floor(left / HOUR)} h`;
  return left < 6 * 24 * HOUR ? weekday.format(at) : day.format(at);
}

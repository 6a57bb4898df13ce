/** Options that are numbers or times. */
import { Fault } from "./fault.ts";

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** A whole number from 1 on. @throws Fault that names the option */
export function readCount(
  name: string,
  given: string | undefined,
  usual: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (given === undefined) return usual;
  const count = /^\d+$/.test(given) ? Number(given) : 0;
  if (count >= 1 && count <= most) return count;
  const range = most === Number.MAX_SAFE_INTEGER ? "1 or more" : `1 to ${most}`;
  throw new Fault(`--${name} is "${given}". Give a whole number, ${range}.`);
}

/** A time as ISO 8601: one that is given so, or this long ago (`30m`). @throws Fault that names the option */
export function readTime(name: string, given: string, now = Date.now()): string {
  const [, amount, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(given) ?? [];
  const time = amount === undefined ? Date.parse(given) : now - Number(amount) * (UNITS[unit] ?? 0) * 1_000;
  const isTime = amount !== undefined || /^\d{4}-\d\d-\d\d/.test(given);
  if (isTime && !Number.isNaN(time)) return new Date(time).toISOString();
  throw new Fault(`--${name} is "${given}". Give a time such as 2027-01-31T12:00:00Z, or how long ago: 30m, 2h or 7d.`);
}

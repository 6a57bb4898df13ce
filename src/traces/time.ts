/** Times of traces: whole microseconds since the epoch, as a number (exact up to the year 2255). */
import * as v from "valibot";
import { isUuid, readUuidMillis } from "../lib/uuid.ts";

export const HOUR_MICROS = 3_600_000_000;
export const DAY_MICROS = 24 * HOUR_MICROS;

/** `2026-11-20T15:49:54.252002Z` from microseconds. */
export function isoFromMicros(micros: number): string {
  const millis = Math.floor(micros / 1000);
  const rest = micros - millis * 1000;
  return `${new Date(millis).toISOString().slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
}

/** The UTC day of a time, YYYY-MM-DD. */
export function toDay(micros: number): string {
  return new Date(Math.floor(micros / 1000)).toISOString().slice(0, 10);
}

/** The first microsecond of a day, and the first one after it. */
export function dayBounds(day: string): { start: number; end: number } {
  const start = Date.parse(`${day}T00:00:00Z`) * 1000;
  return { start, end: start + DAY_MICROS };
}

const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d\d:?\d\d)?$/i;

/**
 * Microseconds from an ISO 8601 string. Without an offset it is UTC, as the SDKs mean it. Undefined when it is no time,
 * or outside the years 1970 to 2254.
 */
export function microsFromIso(text: string): number | undefined {
  return keepInRange(isoMicros(text) ?? Number.NaN);
}

/** As `microsFromIso`, for all years. */
function isoMicros(text: string): number | undefined {
  const match = ISO.exec(text.trim());
  if (!match) return undefined;
  const [, date = "", clock = "00:00:00", fraction = "", zone = "Z"] = match;
  // The parser takes 30 February for 2 March.
  if (!isDate(date)) return undefined;
  const offset = zone.toUpperCase() === "Z" ? "Z" : zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone;
  const seconds = Date.parse(`${date}T${clock.length === 5 ? `${clock}:00` : clock}${offset}`);
  return seconds * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

/** Whether the calendar has this day, YYYY-MM-DD. */
function isDate(date: string): boolean {
  const at = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(date);
}

/** Microseconds within the range that can be stored exactly, else undefined. */
export function keepInRange(micros: number): number | undefined {
  return Number.isFinite(micros) && micros >= 0 && micros < 9_000_000_000_000_000 ? Math.floor(micros) : undefined;
}

/** Times come as ISO strings and as numbers of milliseconds (or seconds, micro- or nanoseconds), even in one object. */
export function parseTime(value: unknown): number | undefined {
  return keepInRange(parseMicros(value) ?? Number.NaN);
}

/** Whether the value is a time that cannot be stored: before 1970, or after 2254. */
export function isOutsideTime(value: unknown): boolean {
  const micros = parseMicros(value);
  return micros !== undefined && !Number.isNaN(micros) && keepInRange(micros) === undefined;
}

function parseMicros(value: unknown): number | undefined {
  if (typeof value === "string")
    return isoMicros(value) ?? (/^-?\d{9,20}$/.test(value) ? parseMicros(Number(value)) : undefined);
  if (typeof value !== "number" || value === 0) return undefined;
  if (value > 1e17) return value / 1000;
  if (value > 1e14) return value;
  if (value > 1e11) return value * 1000;
  return value * 1e6;
}

/** An ISO 8601 time of a request, as microseconds. */
export const Time = v.pipe(
  v.string(),
  v.check((text) => microsFromIso(text) !== undefined, "expected a time such as 2026-11-20T15:49:54Z"),
  v.transform((text) => microsFromIso(text) as number),
);

// dotted_order: a run's place in its trace, as text that sorts in tree order.

export interface OrderSegment {
  /** Microseconds since the epoch. */
  start: number;
  id: string;
}

const SEGMENT =
  /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})Z([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;

/** Nothing real is nested deeper; the text is stored with every run. */
const MAX_DEPTH = 200;

/** The segments root first, or undefined when the text is none. */
export function parseDotted(text: string): OrderSegment[] | undefined {
  const parts = text.split(".", MAX_DEPTH + 1);
  if (parts.length > MAX_DEPTH) return undefined;
  const segments: OrderSegment[] = [];
  for (const part of parts) {
    const match = SEGMENT.exec(part);
    if (!match) return undefined;
    const [, year, month, day, hour, minute, second, micros, id] = match as unknown as string[];
    const seconds = Date.UTC(
      Number(year),
      Number(month) - 1,
      Number(day),
      Number(hour),
      Number(minute),
      Number(second),
    );
    // Date.UTC takes 30 February for 2 March, and hour 25 for 1 o'clock of the next day.
    const isDate =
      new Date(seconds).getUTCDate() === Number(day) && new Date(seconds).getUTCMonth() + 1 === Number(month);
    if (!isDate || Number(minute) > 59 || Number(second) > 59) return undefined;
    const start = seconds * 1000 + Number(micros);
    segments.push({ start, id: (id ?? "").toLowerCase() });
  }
  return segments;
}

/** One segment: `YYYYMMDDTHHMMSSffffffZ` and the id. */
export function segment(start: number, id: string): string {
  const millis = Math.floor(start / 1000);
  const micros = String(start - millis * 1000).padStart(3, "0");
  const stamp = new Date(millis).toISOString().replaceAll(/[-:.Z]/g, "");
  return `${stamp}${micros}Z${id}`;
}

/** The UUID in lower case; undefined when the value is none. */
export function asUuid(value: unknown): string | undefined {
  return typeof value === "string" && isUuid(value) ? value.toLowerCase() : undefined;
}

/** The time inside a UUIDv7, microseconds; undefined for other ids, and for times that cannot be stored. */
export function uuidTime(id: string): number | undefined {
  const millis = readUuidMillis(id);
  return millis === undefined ? undefined : keepInRange(millis * 1000);
}

/** dotted_order: a run's place in its trace, as text that sorts in tree order. */
import { isUuid, readUuidMillis } from "../lib/uuid.ts";
import { keepInRange } from "./time.ts";

export interface Segment {
  /** Microseconds since the epoch. */
  start: number;
  id: string;
}

const SEGMENT =
  /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})Z([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;

/** Nothing real is nested deeper; the text is stored with every run. */
const MAX_DEPTH = 200;

/** The segments root first, or undefined when the text is none. */
export function parseDotted(text: string): Segment[] | undefined {
  const parts = text.split(".", MAX_DEPTH + 1);
  if (parts.length > MAX_DEPTH) return undefined;
  const segments: Segment[] = [];
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

/** The rows of a thread's tables. */
import { isSealed } from "../../access/encryption/ring.ts";

export interface RunRow {
  run_id: string;
  created: number;
  status: string;
  request: string;
  outcome: string | null;
}

/** Events that one flush wrote, and the metadata that they share: JSON arrays. */
export interface EventsRow {
  first_seq: number;
  n: number;
  last_seq: number;
  events: string;
  metas: string;
}

export interface SegmentRow extends EventsRow {
  /** JSON, an array of arrays of items. */
  chunks: string;
}

/** The texts of a segment in the order of their columns, and those that are events. */
export const SEGMENT_TEXTS = ["events", "metas", "chunks"] as const;
export const EVENT_TEXTS = ["events", "metas"] as const;

/** Checkpoints that one flush wrote. */
export interface PackRow {
  last_id: string;
  n: number;
  /** JSON, an array. */
  entries: string;
  /** The row of events that holds the pack. */
  carrier?: { first_seq: number; n: number };
}

export interface WritesRow {
  ns: string;
  checkpoint_id: string;
  n: number;
  body: string;
}

/** A JSON object with one member more. */
export const withMember = (object: string, name: string, json: string): string =>
  `${object.slice(0, -1)}${object.length > 2 ? "," : ""}"${name}":${json}}`;

/** A sealed record as its row holds it. The version before reads the format, answers 503 and writes nothing (db/format.ts). */
const SEALED_RECORD = '{"format":2,"sealed":';

export const wrapRecord = (record: string): string =>
  isSealed(record) ? `${SEALED_RECORD}${JSON.stringify(record)}}` : record;

/** What `wrapped` was given. */
export const unwrapRecord = (held: string): string =>
  held.startsWith(SEALED_RECORD) ? (JSON.parse(held) as { sealed: string }).sealed : held;

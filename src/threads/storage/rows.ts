/** The rows of a thread's tables. */

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

export interface PackRow {
  last_id: string;
  n: number;
  entries: string;
}

export interface WritesRow {
  ns: string;
  checkpoint_id: string;
  n: number;
  body: string;
}

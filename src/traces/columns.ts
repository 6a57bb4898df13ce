/**
 * Runs by the thousand, as columns: what an export reads of a partition. A row as an object costs ten times as much to
 * read, to send and to write again.
 */
import type { SealedBlobs } from "../access/encryption/blobs.ts";
import {
  type LargePayload,
  type PayloadField,
  type RunPosition,
  type StoredTraceRun,
  PAYLOAD_FIELDS,
} from "./types.ts";

// The texts of one column of many runs, in one buffer.

/** The texts of one column: UTF-8, each preceded by its length in 32 bits, little-endian, as Parquet has them. */
export interface Texts {
  bytes: Uint8Array<ArrayBuffer>;
  /** The length of each run's text, bytes; -1 where it has none, and then nothing of it is in `bytes`. */
  lengths: Int32Array;
}

/** Texts that grow by one run after the other. */
export class TextsBuilder {
  private readonly parts: { text: Uint8Array; owned: boolean }[] = [];
  private readonly lengths: number[] = [];
  private size = 0;

  /** `owned`: the text owns its buffer, and `build` frees it. V8 collects buffers late. */
  add(text: Uint8Array | null, owned: boolean): void {
    this.lengths.push(text === null ? -1 : text.length);
    if (text === null) return;
    this.parts.push({ text, owned });
    this.size += 4 + text.length;
  }

  build(): Texts {
    const bytes = new Uint8Array(this.size);
    let at = 0;
    for (const { text, owned } of this.parts) {
      at = putLength(bytes, at, text.length);
      bytes.set(text, at);
      at += text.length;
      if (owned) (text.buffer as ArrayBuffer).transfer(0);
    }
    return { bytes, lengths: Int32Array.from(this.lengths) };
  }
}

/** Writes a length in 32 bits, little-endian. Gives where it ends. */
export function putLength(bytes: Uint8Array, at: number, length: number): number {
  bytes[at] = length;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length >>> 16;
  bytes[at + 3] = length >>> 24;
  return at + 4;
}

/** The texts one by one, null where a run has none. */
export function* readTexts({ bytes, lengths }: Texts): Generator<Uint8Array | null> {
  let at = 0;
  for (const length of lengths) {
    if (length < 0) {
      yield null;
      continue;
    }
    yield bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
}

/** Texts of which each is behind room for its length, with those lengths, null where a run has none. */
export function layOut(bytes: Uint8Array<ArrayBuffer>, given: (number | null)[]): Texts {
  const lengths = new Int32Array(given.length);
  let at = 0;
  for (const [row, length] of given.entries()) {
    lengths[row] = length ?? -1;
    if (length !== null) at = putLength(bytes, at, length) + length;
  }
  return { bytes, lengths };
}

/** The texts of several parts of the runs. Frees the parts: V8 collects buffers late. */
export function joinTexts(parts: Texts[]): Texts {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes.length, 0));
  const lengths = new Int32Array(parts.reduce((sum, part) => sum + part.lengths.length, 0));
  let [at, row] = [0, 0];
  for (const part of parts) {
    bytes.set(part.bytes, at);
    lengths.set(part.lengths, row);
    at += part.bytes.length;
    row += part.lengths.length;
    part.bytes.buffer.transfer(0);
  }
  return { bytes, lengths };
}

/** The fields of a run that a page can have: those of a stored run, and its raw feedback as a JSON array. */
export type PageField = Exclude<keyof StoredTraceRun, "large"> | "feedbacks";

/** Fields that are the same in every run of a partition; but for the tier, while traces of it are kept for longer. */
const CONSTANT_FIELDS = ["tenant_id", "session_id", "trace_tier"] as const;
export type ConstantField = (typeof CONSTANT_FIELDS)[number];

/** Fields of text that differ from run to run. */
const UNIQUE_FIELDS = ["id", "dotted_order"] as const;
export type UniqueField = (typeof UNIQUE_FIELDS)[number];

/** Fields whose values are short, or numbers. */
export type LightField = Exclude<PageField, PayloadField | ConstantField | UniqueField>;

/** The runs of a window that have changed after a change (partition/store/changes.ts). */
export interface ChangedRequest {
  /** The number of the change. */
  since: number;
  startTime: number;
  endTime: number;
  filter?: string | null;
}

/** A run that has moved from one side of a cursor to the other, for its start_time changed. */
export interface MovedRun {
  id: string;
  /** Whether it moved from what had been read. */
  wasRead: boolean;
}

/** A half-open window of start_time, microseconds, and the number of the last change that was seen of it. */
export interface SinceWindow {
  startTime: number;
  endTime: number;
  change: number;
}

export interface PageRequest {
  after: RunPosition | null;
  /** The number of the last change before the page that ended at `after` was read. The page then tells what has moved since. */
  movedSince?: number;
  /** The ids of runs to leave out. Those that `movedSince` finds to be read are left out, too. */
  skip?: string[];
  /** Only runs in these windows that have changed after the change of their window. */
  since?: SinceWindow[];
  /** Half-open window of start_time, microseconds: [startTime, endTime). */
  startTime: number;
  endTime: number;
  /** Filter expression (filter/filter.ts), applied in SQL. Check it with `parseFilter` first. */
  filter?: string | null;
  /** At most this many runs; at least one is given if any is left. */
  limit: number;
  /** The page ends after the run that passes this size (payloads in R2 count with their full size). */
  maxBytes: number;
  fields: readonly PageField[];
}

/** Runs in the order (start_time, id): the i-th value of every column belongs to the i-th run. */
export interface RunPage {
  rows: number;
  constants: Record<ConstantField, string>;
  /**
   * The values of a column as a JSON array, for a thousand texts or numbers cost more to send than one text of them. Times and
   * counts are numbers, `is_root` 0 or 1, lists JSON texts.
   */
  light: Partial<Record<LightField | "trace_tier", string>>;
  unique: Partial<Record<UniqueField, Texts>>;
  payloads: Partial<Record<PayloadField, Texts>>;
  /** Payloads that are stored in R2, in the order of the runs: fill them in with `resolveColumn`. */
  large: (LargePayload & { row: number; field: PayloadField; key: string })[];
  /** About the bytes of all this with the payloads in R2. */
  bytes: number;
  /** The cursor of the next page, or null when there are no runs. */
  next: RunPosition | null;
  /** Nothing more matches in the window right now. */
  done: boolean;
  /** The number of the last change before the page was read. */
  changes: number;
  /** The runs that moved across `after` since `movedSince`. */
  moved?: MovedRun[];
}

export function isPayload(field: string): field is PayloadField {
  return (PAYLOAD_FIELDS as readonly string[]).includes(field);
}

export function isUnique(field: string): field is UniqueField {
  return (UNIQUE_FIELDS as readonly string[]).includes(field);
}

export function isConstant(field: string): field is ConstantField {
  return (CONSTANT_FIELDS as readonly string[]).includes(field);
}

/**
 * The texts of one column, with the payloads from R2. They are read one after the other. A missing payload stays null. Columns
 * are resolved separately, because the payloads of one run can be 60 MB.
 */
export async function resolveColumn(
  blobs: Pick<SealedBlobs, "get">,
  { payloads, large }: RunPage,
  field: PayloadField,
): Promise<Texts | undefined> {
  const texts = payloads[field];
  const keys = new Map(large.filter((item) => item.field === field).map((item) => [item.row, item.key]));
  if (!texts || keys.size === 0) return texts;
  const builder = new TextsBuilder();
  let row = 0;
  for (const text of readTexts(texts)) {
    const key = keys.get(row++);
    const blob = key === undefined ? undefined : await blobs.get(key);
    if (blob) builder.add(new Uint8Array(await blob.arrayBuffer()), true);
    else builder.add(text, false);
  }
  return builder.build();
}

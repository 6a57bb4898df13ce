/**
 * Runs by the thousand, as columns: what an export reads of a partition. A row as an object costs ten times as much to
 * read, to send and to write again.
 */
import type { LargePayload, PayloadField, RunPosition, StoredRun } from "./types.ts";
import { PAYLOAD_FIELDS } from "./types.ts";

/** The fields of a run that a page can have: those of a stored run, and its raw feedback as a JSON array. */
export type PageField = Exclude<keyof StoredRun, "large"> | "feedbacks";

/** Fields that are the same in every run of a partition. */
const CONSTANT_FIELDS = ["tenant_id", "session_id", "trace_tier"] as const;
export type ConstantField = (typeof CONSTANT_FIELDS)[number];

/** Fields whose values are short, or numbers. */
export type LightField = Exclude<PageField, PayloadField | ConstantField>;

/** The runs of a window that have changed after a change (partition/changes.ts). */
export interface ChangedRequest {
  /** The number of the change. */
  since: number;
  startTime: number;
  endTime: number;
  filter?: string | null;
}

/** A half-open window of start_time, microseconds, and the number of the last change that was seen of it. */
export interface SinceWindow {
  startTime: number;
  endTime: number;
  change: number;
}

export interface PageRequest {
  after: RunPosition | null;
  /** Only runs in these windows that have changed after the change of their window. */
  since?: SinceWindow[];
  /** Half-open window of start_time, microseconds: [startTime, endTime). */
  startTime: number;
  endTime: number;
  /** Filter expression (filter.ts), applied in SQL. Check it with `parseFilter` first. */
  filter?: string | null;
  /** At most this many runs; at least one is given if any is left. */
  limit: number;
  /** The page ends after the run that passes this size (payloads in R2 count with their full size). */
  maxBytes: number;
  fields: readonly PageField[];
}

/** The texts of one column: UTF-8, each preceded by its length in 32 bits, little-endian, as Parquet has them. */
export interface Texts {
  bytes: Uint8Array<ArrayBuffer>;
  /** The length of each run's text, bytes; -1 where it has none, and then nothing of it is in `bytes`. */
  lengths: Int32Array;
}

/** Runs in the order (start_time, id): the i-th value of every column belongs to the i-th run. */
export interface RunPage {
  rows: number;
  constants: Record<ConstantField, string>;
  /** Times and counts are numbers, `is_root` 0 or 1, lists JSON texts. */
  light: Partial<Record<LightField, (string | number | null)[]>>;
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
}

export function isPayload(field: string): field is PayloadField {
  return (PAYLOAD_FIELDS as readonly string[]).includes(field);
}

export function isConstant(field: string): field is ConstantField {
  return (CONSTANT_FIELDS as readonly string[]).includes(field);
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
function* textsOf({ bytes, lengths }: Texts): Generator<Uint8Array | null> {
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

/**
 * The texts of one column, with the payloads from R2. They are read one after the other. A missing payload stays null. Columns
 * are resolved separately, because the payloads of one run can be 60 MB.
 */
export async function resolveColumn(
  blobs: Pick<R2Bucket, "get">,
  { payloads, large }: RunPage,
  field: PayloadField,
): Promise<Texts | undefined> {
  const texts = payloads[field];
  const keys = new Map(large.filter((item) => item.field === field).map((item) => [item.row, item.key]));
  if (!texts || keys.size === 0) return texts;
  const builder = new TextsBuilder();
  let row = 0;
  for (const text of textsOf(texts)) {
    const key = keys.get(row++);
    const blob = key === undefined ? undefined : await blobs.get(key);
    if (blob) builder.add(new Uint8Array(await blob.arrayBuffer()), true);
    else builder.add(text, false);
  }
  return builder.build();
}

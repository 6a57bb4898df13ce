/**
 * Size limits in bytes of UTF-8, as SQLite counts them. A row of D1 or of a Durable Object holds at most 2,000,000 bytes.
 * `String.length` counts UTF-16 units, and one unit can be three bytes.
 */
import * as v from "valibot";
import { Problem } from "./problem.ts";

/** The limit of the metadata of a project, dataset, assistant or cron, as JSON. */
export const METADATA_BYTES = 256 * 1024;
/** The limit of an assistant's configuration, a cron's payload or a Store item's value, as JSON. */
export const PAYLOAD_BYTES = 1024 * 1024;

/** The size of a string, or of any other value as JSON. */
export function byteLength(value: unknown): number {
  return Buffer.byteLength(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

const rule = (limit: number) => `must be at most ${limit} bytes`;

/** A valibot action that limits a string, or any other value as JSON, to `limit` bytes. */
export const maxBytes = <T>(limit: number) => v.check<T, string>((value) => byteLength(value) <= limit, rule(limit));

/**
 * Returns the value if it has at most `limit` bytes as JSON. Use it for values that join a request with a stored row.
 * @throws Problem 422 that names `what`.
 */
export function withinBytes<T>(value: T, limit: number, what: string): T {
  if (byteLength(value) > limit) throw new Problem(422, `Invalid body: ${what} ${rule(limit)} as JSON.`);
  return value;
}

/** Cuts a string to at most `limit` bytes, between two characters. */
export function cutBytes(text: string, limit: number): string {
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return text;
  // In streaming mode the decoder drops the incomplete character at the end.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, limit), { stream: true });
}

/** The most bytes of the rows of a list. As values and as JSON they take several times as much memory. */
const RESPONSE_BYTES = 16 * 1024 * 1024;
/** Lists of at most this many rows are not measured, because a row is below 2 MB. It covers the default limit of 10. */
const FEW = 11;

/**
 * Refuses a list whose rows are too large. `measure` returns their bytes. It is called only for more than a few rows.
 * @throws Problem 413
 */
export async function limitResponse(limit: number, measure: () => Promise<number>): Promise<void> {
  if (limit <= FEW || (await measure()) <= RESPONSE_BYTES) return;
  throw new Problem(
    413,
    `The answer would be larger than ${RESPONSE_BYTES} bytes. Request fewer at a time with limit.`,
  );
}

// Reads the body of a response from a server that may send anything: at most `limit` bytes of it are held.

/**
 * The bytes of the body. Undefined when there are more than `limit`; the rest is not read.
 *
 * @throws what the body fails with; and when `signal` is aborted, its reason.
 */
export async function readWithin(
  response: Response,
  limit: number,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (let read = await reader?.read(); read && !read.done && size <= limit; read = await reader?.read()) {
      chunks.push(read.value);
      size += read.value.byteLength;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
  }
  // A cancelled reader ends as a complete one does.
  signal.throwIfAborted();
  if (size <= limit) return Buffer.concat(chunks);
  cancel();
  return undefined;
}

// A memory budget that concurrent requests share. An isolate has 128 MB and serves many requests at a time, so a limit per
// request is not enough.

/** How long a request waits for memory before it is refused, and the interval between two checks, milliseconds. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 20;
/** A claim that has not changed for this long is dropped: the platform has ended its request. Milliseconds. */
const ABANDONED_MS = 60_000;

export class MemoryBudget {
  /** Oldest first. */
  readonly #reservations = new Set<MemoryReservation>();

  /**
   * All claims together hold at most `shared` bytes, except that the oldest claim is always admitted. This prevents two
   * half-read bodies from waiting for each other. The total is at most `shared` plus the most that one request may hold.
   */
  constructor(private readonly shared: number) {}

  /** The bytes held by all claims. */
  get held(): number {
    return [...this.#reservations].reduce((sum, { held }) => sum + held, 0);
  }

  /** Opens an empty claim. The caller must release it when its request ends or fails. */
  reserve(): MemoryReservation {
    const reservation: MemoryReservation = new MemoryReservation(
      (bytes) => this.#admits(reservation, bytes),
      () => this.#reservations.delete(reservation),
    );
    this.#reservations.add(reservation);
    return reservation;
  }

  #admits(reservation: MemoryReservation, bytes: number): boolean {
    const now = Date.now();
    for (const other of this.#reservations) if (now - other.moved > ABANDONED_MS) this.#reservations.delete(other);
    const [oldest] = this.#reservations;
    return reservation === oldest || this.held + bytes <= this.shared;
  }
}

/** The bytes that one request holds. */
export class MemoryReservation {
  held = 0;
  /** The time of the last change or attempt to change, milliseconds. */
  moved = Date.now();

  constructor(
    private readonly admits: (bytes: number) => boolean,
    readonly release: () => void,
  ) {}

  /** Sets the held bytes. Waits for memory when they grow. @throws Problem 503 after ten seconds. */
  async hold(bytes: number): Promise<void> {
    const until = Date.now() + PATIENCE_MS;
    this.moved = Date.now();
    while (bytes > this.held && !this.admits(bytes - this.held)) {
      if (this.moved >= until) {
        throw new Problem(503, "The server holds as many requests as its memory allows. Send this one again.", {
          headers: { "retry-after": "2" },
        });
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      this.moved = Date.now();
    }
    this.held = bytes;
  }
}

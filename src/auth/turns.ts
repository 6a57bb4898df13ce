/**
 * Fair shares of an isolate: one credential's burst of requests does not delay the requests of others. An isolate has one
 * thread, and all requests that it works on at the same time share that thread.
 */
import { Problem } from "../lib/problem.ts";
import type { Principal } from "../http/principal.ts";
import { dropUnseen, credentialKey, type Seen } from "./seen.ts";

/** Requests of one credential that are at work at the same time. */
const AT_ONCE = 16;
/** Requests of one credential that wait for their turn. Each holds its headers in the isolate's memory. */
const MOST_WAITING = 1_000;
/** After this time the turn of a request ends, because it waits rather than computes. Milliseconds. */
const TURN_MS = 5_000;
/** The same for calls that answer when a run has ended, which is long after they stopped computing. */
const BLOCKING_TURN_MS = 250;
const BLOCKING = /^\/(?:a2a|mcp)(?:\/|$)/;

/** Milliseconds that a request waits for its turn. */
const WAIT_MS = 20_000;

/** The platform can end a request without running its code, so each entry ends by its age too. */
class Turns {
  readonly #taken = new Set<Seen>();
  readonly #waiting = new Set<Seen>();

  get isIdle(): boolean {
    return this.#taken.size === 0 && this.#waiting.size === 0;
  }

  /** A turn of this many milliseconds; undefined when all are taken. */
  take(length: number): Seen | undefined {
    if (this.#taken.size >= AT_ONCE) dropUnseen(this.#taken, TURN_MS);
    if (this.#taken.size >= AT_ONCE) return undefined;
    const turn = { at: Date.now() - (TURN_MS - length) };
    this.#taken.add(turn);
    return turn;
  }

  end(turn: Seen): void {
    this.#taken.delete(turn);
  }

  /**
   * Resolves when the caller should try again. Each request uses its own timer: in Workers, no request may run another
   * request's code.
   */
  async pause(): Promise<void> {
    if (this.#waiting.size >= MOST_WAITING) dropUnseen(this.#waiting, TURN_MS);
    if (this.#waiting.size >= MOST_WAITING) throw tooManyAtOnce();
    const waiting = { at: Date.now() };
    this.#waiting.add(waiting);
    // The interval grows with the number of waiting requests: together they check at most about 2,000 times a second.
    await new Promise((resolve) => setTimeout(resolve, Math.min(500, 20 + this.#waiting.size)));
    this.#waiting.delete(waiting);
  }
}

const turns = new Map<string, Turns>();

/**
 * Waits for a turn of this credential. The caller calls the answer when the response has begun.
 *
 * @throws Problem 429 when too many of its requests wait, or this one has waited 20 seconds.
 */
export async function takeTurn({ url }: Request, principal: Principal): Promise<() => void> {
  const key = credentialKey(principal);
  const length = BLOCKING.test(new URL(url).pathname) ? BLOCKING_TURN_MS : TURN_MS;
  const since = Date.now();
  for (;;) {
    const own = turns.get(key) ?? new Turns();
    turns.set(key, own);
    const turn = own.take(length);
    if (turn) return () => endTurn(key, own, turn);
    if (Date.now() - since > WAIT_MS) throw tooManyAtOnce();
    await own.pause();
  }
}

function endTurn(key: string, own: Turns, turn: Seen): void {
  own.end(turn);
  if (own.isIdle && turns.get(key) === own) turns.delete(key);
}

function tooManyAtOnce(): Problem {
  return new Problem(429, "This credential has too many requests at the same time. Send fewer at once.", {
    headers: { "retry-after": "5" },
  });
}

/** Outages: errors of the platform, not of the code, and when to repeat a call that met one. */

/**
 * - `restarted`: a Durable Object (or the database) was reset, moved or lost its connection. A new stub reaches the next
 *   instance. Whether the call was carried out is not known.
 * - `overloaded`: it has too many requests, or ran out of memory. Repeating at once makes that worse.
 */
export type Outage = "restarted" | "overloaded";

interface Flags {
  retryable?: boolean;
  overloaded?: boolean;
  durableObjectReset?: boolean;
}

/**
 * Messages of the platform's own errors, for those without a flag: errors of streams and of D1 have none. From the
 * "Troubleshooting" page of the Durable Objects documentation and from workerd.
 */
const RESTARTED =
  /reset because|to be reset|was reset|Network connection lost|due to transient issue|disconnected prematurely|can no longer access storage|^Application called abort/;
const OVERLOADED = /is overloaded/;

/** The outage that an error or its cause tells of; undefined for every other error. */
export function outageOf(error: unknown): Outage | undefined {
  // An object's own refusal may quote any text (see `remoteProblem`).
  if (!(error instanceof Error) || error.message.startsWith("Problem:")) return undefined;
  const { retryable, overloaded, durableObjectReset } = error as Flags;
  if (overloaded || OVERLOADED.test(error.message)) return "overloaded";
  if (retryable || durableObjectReset || RESTARTED.test(error.message)) return "restarted";
  return outageOf(error.cause);
}

/** How often `repeated` makes a call. */
export const TRIES = 4;

/**
 * Makes a call that may be carried out twice, again when its object restarted: up to `TRIES` times within about a second.
 * `call` must take a new stub each time, because a stub that has met such an error stays broken. It gets the number of
 * the attempt, from 1.
 */
export async function repeated<T>(call: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(attempt);
    } catch (error) {
      if (attempt === TRIES || outageOf(error) !== "restarted") throw error;
      await backOff(attempt);
    }
  }
}

/** An object whose calls may all be carried out twice: each is made by `repeated`, on what `stub` gives then. */
export function repeating<T extends object>(stub: () => T): T {
  type Calls = Record<PropertyKey, (...args: unknown[]) => Promise<unknown>>;
  const call = (method: PropertyKey, args: unknown[]) => repeated(async () => (stub() as Calls)[method]?.(...args));
  return new Proxy({} as T, {
    // What has a `then` is taken for a promise.
    get: (_, method) => (method === "then" ? undefined : (...args: unknown[]) => call(method, args)),
  });
}

/** As `repeated`, but without a limit, and also while the object is overloaded. For calls that wait for as long as their caller does. */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (outageOf(error) === undefined) throw error;
      await backOff(attempt);
    }
  }
}

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** Waits before the next attempt: twice as long each time, half of it random so that many callers do not come together. */
export async function backOff(attempt: number): Promise<void> {
  const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1));
  await new Promise((resolve) => setTimeout(resolve, most * (0.5 + Math.random() / 2)));
}

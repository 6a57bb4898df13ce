/** Outages: errors of the platform, not of the code, and which calls are repeated after one. */

/**
 * - `restarted`: a Durable Object or the database was reset or moved, or the connection was lost. A new stub reaches the
 *   next instance. It is not known whether the call was carried out.
 * - `overloaded`: the object has too many requests, or ran out of memory. A repeated call makes that worse.
 */
export type Outage = "restarted" | "overloaded";

interface Flags {
  retryable?: boolean;
  overloaded?: boolean;
  durableObjectReset?: boolean;
}

/**
 * Messages of platform errors. Errors of streams and of D1 have no flags. While a deploy replaces objects, one of the
 * previous version may lack a method. Sources: the "Troubleshooting" page of the Durable Objects documentation, and workerd.
 */
const RESTARTED =
  /reset because|to be reset|was reset|Network connection lost|due to transient issue|disconnected prematurely|can no longer access storage|does not implement the method|^Application called abort/;
const OVERLOADED = /is overloaded/;

/** The outage behind an error or its cause; undefined for every other error. */
export function findOutage(error: unknown): Outage | undefined {
  // The detail of a `remoteProblem` may quote any text.
  if (!(error instanceof Error) || error.message.startsWith("Problem:")) return undefined;
  const { retryable, overloaded, durableObjectReset } = error as Flags;
  if (overloaded || OVERLOADED.test(error.message)) return "overloaded";
  if (retryable || durableObjectReset || RESTARTED.test(error.message)) return "restarted";
  return findOutage(error.cause);
}

/** How often `retry` makes a call at most. */
export const TRIES = 4;

/**
 * Makes a call, and repeats it when its object restarted: up to `TRIES` times within about a second. Only for calls that
 * may be carried out twice. `call` gets the number of the attempt, from 1. It must take a new stub each time, because a
 * stub stays broken after such an error. Throws the last error.
 */
export async function retry<T>(call: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call(attempt);
    } catch (error) {
      if (attempt === TRIES || findOutage(error) !== "restarted") throw error;
      await backOff(attempt);
    }
  }
}

/** An object whose calls may all be carried out twice. Each call is made by `retry` with a new stub. */
export function retryCalls<T extends object>(stub: () => T): T {
  type Calls = Record<PropertyKey, (...args: unknown[]) => Promise<unknown>>;
  const call = (method: PropertyKey, args: unknown[]) => retry(async () => (stub() as Calls)[method]?.(...args));
  return new Proxy({} as T, {
    // JavaScript treats an object with a `then` method as a promise.
    get: (_, method) => (method === "then" ? undefined : (...args: unknown[]) => call(method, args)),
  });
}

/** As `retry`, but without a limit, and also while the object is overloaded. For calls that wait for a run to end. */
export async function retryUntilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (findOutage(error) === undefined) throw error;
      await backOff(attempt);
    }
  }
}

const FIRST_MS = 100;
const MAX_DELAY_MS = 5_000;

/** Waits before the next attempt: twice as long each time, up to 5 s. Half of it is random, to spread many callers. */
export async function backOff(attempt: number): Promise<void> {
  const most = Math.min(MAX_DELAY_MS, FIRST_MS * 2 ** (attempt - 1));
  await new Promise((resolve) => setTimeout(resolve, most * (0.5 + Math.random() / 2)));
}

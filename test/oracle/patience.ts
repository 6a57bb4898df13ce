/**
 * When a wait counts as one that never ends: when nothing that any case waits for has come for a while. A loaded machine makes
 * all of them slow, and fails none.
 */

/** Times that the process looked, a second apart, and nothing had come. */
const QUIET_LOOKS = 60;
const LOOK_MS = 1_000;

/** Alarms come only when the oracle lets them, and not by themselves. */
export const LATE_MS = 24 * 3_600_000;

let arrivals = 0;

/** Fails with the name of what hangs. */
export async function limitTime<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const late = new Promise<never>((_, reject) => {
    let [seen, quiet] = [arrivals, 0];
    timer = setInterval(() => {
      quiet = seen === arrivals ? quiet + 1 : 0;
      seen = arrivals;
      if (quiet >= QUIET_LOOKS) reject(new Error(`${what} hangs`));
    }, LOOK_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(timer);
    arrivals += 1;
  }
}

/** Looks until it is so. Fails with the name of what never is. */
export async function waitUntil(what: string, look: () => boolean): Promise<void> {
  const looking = new AbortController();
  const waitUntilSeen = async () => {
    while (!looking.signal.aborted && !look()) await pause(3);
  };
  await limitTime(what, waitUntilSeen()).finally(() => looking.abort());
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

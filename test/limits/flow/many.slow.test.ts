/**
 * Many runs over many keys: never more than the limit at once, and every key gets its share. A soak has 10,000 runs over 100 keys. The
 * figures beside the ideal are printed. `FLOW_KEYS`, `FLOW_RUNS` (of each key) and `FLOW_MS` (of each run) set how much.
 */
import { expect, it } from "vitest";
import { deriveUuid } from "../../../src/lib/uuid.ts";
import { newCaller } from "../../support/caller.ts";
import { chooseAmount } from "../../support/thorough.ts";
import { putRule } from "./put-rule.ts";
import { began, hold, most, release, start, untilFree } from "./working.ts";

const KEYS = chooseAmount("FLOW_KEYS", 5, 100);
const RUNS_PER_KEY = chooseAmount("FLOW_RUNS", 15, 100);
const MS = chooseAmount("FLOW_MS", 100, 20_000);
const LIMIT = 5;
/** Requests at a time. */
const AT_ONCE = 20;
/** Threads of each key, whose runs follow each other. Each thread that is open takes files of workerd, which may have 20,000. */
const THREADS_PER_KEY = 4 * LIMIT;

it(
  `${KEYS * RUNS_PER_KEY} runs over ${KEYS} keys with a limit of ${LIMIT} each`,
  { timeout: 600_000 + RUNS_PER_KEY * MS },
  async () => {
    const caller = await newCaller();
    await putRule(caller, "teams", { key: "metadata.team", concurrency: LIMIT });
    const keys = Array.from({ length: KEYS }, () => crypto.randomUUID());
    for (const key of keys) hold(key);
    const left = Array.from({ length: RUNS_PER_KEY }, (_, n) => keys.map((key) => ({ key, n }))).flat();
    const starting = Array.from({ length: AT_ONCE }, async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const { key, n } = next;
        await start(
          caller,
          key,
          { input: { name: key, ms: MS }, if_not_exists: "create" },
          deriveUuid(`${key} ${n % THREADS_PER_KEY}`),
        );
      }
    });
    await Promise.all(starting);
    await expect.poll(() => keys.filter((key) => most.get(key) === LIMIT).length, { timeout: 60_000 }).toBe(KEYS);
    const at = performance.now();
    for (const key of keys) release(key);
    await untilFree(caller, 120_000 + (RUNS_PER_KEY / LIMIT) * MS);
    const took = performance.now() - at;
    for (const key of keys) {
      expect(most.get(key)).toBe(LIMIT);
      expect(began.filter(({ name }) => name === key)).toHaveLength(RUNS_PER_KEY);
    }
    const begins = began.filter(({ name }) => keys.includes(name));
    // Runs that end together begin the next ones together, so keys differ by a few of them.
    const firstDone = begins.findIndex((_, i) => isLast(begins, i));
    const shares = keys.map((key) => begins.slice(0, firstDone + 1).filter(({ name }) => name === key).length);
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(RUNS_PER_KEY - 3 * LIMIT);
    const waits = keys.map((key) => Math.max(...begins.filter(({ name }) => name === key).map((one) => one.at)) - at);
    const [fastest, slowest] = [Math.min(...waits), Math.max(...waits)];
    const ideal = (RUNS_PER_KEY / LIMIT) * MS;
    const beside = (took / ideal).toFixed(3);
    console.log(
      `flow: ${Math.round(took)} ms, ${beside} of the ideal; last begins after ${Math.round(fastest)} to ${Math.round(slowest)} ms`,
    );
  },
);

/** Whether this is the last run of its key. */
const isLast = (begins: { name: string }[], at: number): boolean =>
  !begins.some(({ name }, later) => later > at && name === begins[at]?.name);

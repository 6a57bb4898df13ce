/** What a turn costs as its thread grows, and how many rows a run writes: the rows are the bill. */
import { setTimeout as sleep } from "node:timers/promises";
import { withBenchRoutes } from "../../test/support/server.ts";
import { ms, percentile, table } from "./figures.ts";
import { chooseAmount } from "./least.ts";
import type { Bench } from "./bench.ts";
import { startPlain } from "./servers/plain.ts";
import type { Weir } from "./servers/server.ts";

const SHOWN = [10, chooseAmount(100, 10), chooseAmount(1000, 10)];
/** A turn is shown as the median of this many around it: one turn alone is noise. */
const AROUND = 9;
const PAIRS = chooseAmount(40, 1);
/**
 * A run's trace is sent shortly after its end. Its row is then removed from the outbox, which is also a write.
 * Milliseconds.
 */
const TOLD = 300;

const say = (content: string) => ({ input: { messages: [{ role: "user", content }] } });

/** Rows that the thread's object has written since it started. */
async function countRowsWritten({ url, workspaceId }: Weir, threadId: string): Promise<number> {
  return (await fetch(`${url}/bench/rows?thread=${workspaceId}:${threadId}`)).json<number>();
}

async function turn(target: Weir, threadId: string, assistant: string, content: string, counted = true) {
  const before = counted ? await countRowsWritten(target, threadId) : 0;
  const start = performance.now();
  await target.client.runs.wait(threadId, assistant, say(content));
  const time = performance.now() - start;
  if (!counted) return { time, rows: 0 };
  await sleep(TOLD);
  return { time, rows: (await countRowsWritten(target, threadId)) - before };
}

/** Turns of the long thread and of short ones, one after the other: what else the machine does slows both. */
async function timePairs(target: Weir, long: string): Promise<number[]> {
  const pairs: number[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const { thread_id: short } = await target.client.threads.create();
    for (let index = 1; index < 10; index += 1) await turn(target, short, "echo", `turn ${index}`, false);
    const [a, b] = [await turn(target, long, "echo", "turn", false), await turn(target, short, "echo", "turn", false)];
    pairs.push(a.time / b.time);
  }
  return pairs;
}

function ratios(pairs: number[]): string {
  const [median, low, high] = [50, 25, 75].map((part) => percentile(pairs, part).toFixed(2));
  return `${median} (${low} to ${high})`;
}

const isShown = (turn: number) => SHOWN.some((shown) => Math.abs(turn - shown) <= (AROUND - 1) / 2);

export const bench: Bench = {
  title: "rows and time of a turn",
  async start() {
    await using target = await startPlain({ config: withBenchRoutes() });
    const { client } = target;
    const runOnce = async (assistant: string, content: string) => {
      const { thread_id } = await client.threads.create();
      return turn(target, thread_id, assistant, content);
    };
    const echo = await runOnce("echo", "hello");
    const agent = await runOnce("agent", "What is 17 * 24?");
    table(
      ["one run on a fresh thread", "rows written"],
      [
        ["echo", echo.rows],
        ["agent, one tool call", agent.rows],
      ],
    );

    const { thread_id } = await client.threads.create();
    const turns: { time: number; rows: number }[] = [];
    const count = Math.max(...SHOWN) + (AROUND - 1) / 2;
    for (let index = 0; index < count; index += 1)
      turns.push(await turn(target, thread_id, "echo", `turn ${index + 1}`, isShown(index + 1)));
    const row = (shown: number) => {
      const around = turns.slice(shown - 1 - (AROUND - 1) / 2, shown + (AROUND - 1) / 2);
      const median = (pick: (turn: { time: number; rows: number }) => number) => percentile(around.map(pick), 50);
      return [shown, ms(median(({ time }) => time)), median(({ rows }) => rows)];
    };
    console.log("");
    table([`turn of one thread (echo)`, "time", "rows written"], SHOWN.map(row));

    const pairs = await timePairs(target, thread_id);
    console.log("");
    table(["turn beside turn 10 of another thread", "ratio (quartiles)"], [[count, ratios(pairs)]]);
  },
};

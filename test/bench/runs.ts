/** How fast a run of `echo` on a fresh thread is, one after the other and sixteen at a time. */
import { ms, percentile, table } from "./figures.ts";
import type { Bench, Target } from "./target.ts";

const CONCURRENCY = 16;

interface Times {
  first: number;
  last: number;
  close: number;
}

/** Streams one run and times, from the call on: the first event, the last, and the end of the stream. */
async function timedRun({ client }: Target, threadId: string): Promise<Times> {
  const start = performance.now();
  const input = { messages: [{ role: "user", content: "hello" }] };
  const times = { first: 0, last: 0, close: 0 };
  for await (const event of client.runs.stream(threadId, "echo", { input, streamMode: ["values", "updates"] })) {
    if (event.event === "error") throw new Error(`The run failed: ${JSON.stringify(event.data)}`);
    times.last = performance.now() - start;
    times.first ||= times.last;
  }
  times.close = performance.now() - start;
  return times;
}

async function threads({ client }: Target, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let index = 0; index < count; index += 1) made.push((await client.threads.create()).thread_id);
  return made;
}

async function sequential(target: Target): Promise<void> {
  const times: Times[] = [];
  for (const id of await threads(target, target.runs)) times.push(await timedRun(target, id));
  const row = (name: string, pick: (times: Times) => number) => {
    const numbers = times.map(pick);
    return [name, ms(percentile(numbers, 50)), ms(percentile(numbers, 90)), ms(percentile(numbers, 99))];
  };
  table(
    [`${target.runs} runs, one by one`, "p50", "p90", "p99"],
    [
      row("first event", ({ first }) => first),
      row("last event", ({ last }) => last),
      row("stream closed", ({ close }) => close),
    ],
  );
}

async function concurrent(target: Target): Promise<void> {
  const waiting = await threads(target, target.runs * 2);
  const count = waiting.length;
  const start = performance.now();
  const close: number[] = [];
  const work = async () => {
    for (let id = waiting.pop(); id; id = waiting.pop()) close.push((await timedRun(target, id)).close);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  const seconds = (performance.now() - start) / 1000;
  console.log("");
  table(
    [`${count} runs, ${CONCURRENCY} at a time`, "runs/s", "p50", "p90"],
    [["stream closed", (count / seconds).toFixed(1), ms(percentile(close, 50)), ms(percentile(close, 90))]],
  );
}

export const bench: Bench = {
  title: "runs of `echo`, each on a fresh thread",
  async run(target) {
    for (const id of await threads(target, 10)) await timedRun(target, id);
    await sequential(target);
    await concurrent(target);
  },
};

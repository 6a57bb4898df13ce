/** How a model's tokens arrive: their number an arrival, and the time between two arrivals. */
import { load, ms, percentile, table } from "./figures.ts";
import { setUpPeer, startPeer, useIfInstalled } from "./servers/peer.ts";
import { startPlain } from "./servers/plain.ts";
import type { Server } from "./servers/server.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";

/** Milliseconds between two tokens of the model. */
const GIVES_MS = 20;
const COUNT = Number(process.env.TOKENS ?? chooseAmount(100, 10));
const AT_ONCE = [1, chooseAmount(16, 2)];

interface Arrivals {
  tokens: number;
  /** Milliseconds between two arrivals. */
  gaps: number[];
}

/** Streams one run and notes when its tokens arrive. */
async function listen({ url, headers }: Server): Promise<Arrivals> {
  const post = async (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const { thread_id } = await (await post("/threads", {})).json<{ thread_id: string }>();
  const input = { messages: [{ role: "user", content: `count to ${COUNT}` }] };
  const body = { assistant_id: "agent", input, stream_mode: ["messages-tuple"] };
  const answer = await post(`/threads/${thread_id}/runs/stream`, body);
  if (!answer.ok || !answer.body) throw new Error(`${answer.status} ${await answer.text()}`);
  const decoder = new TextDecoder();
  const gaps: number[] = [];
  let tokens = 0;
  let last: number | undefined;
  for await (const chunk of answer.body) {
    const count = decoder.decode(chunk as Uint8Array, { stream: true }).split("event: messages").length - 1;
    if (count === 0) continue;
    const now = performance.now();
    if (last !== undefined) gaps.push(now - last);
    last = now;
    tokens += count;
  }
  if (tokens < COUNT) throw new Error(`Only ${tokens} tokens of ${COUNT} arrived.`);
  return { tokens, gaps };
}

async function measure(server: Server, rounds: number): Promise<(string | number)[][]> {
  await listen(server);
  const rows: (string | number)[][] = [];
  for (const atOnce of AT_ONCE) {
    const readings: Arrivals[] = [];
    for (let round = 0; round < rounds; round += 1)
      readings.push(...(await Promise.all(Array.from({ length: atOnce }, () => listen(server)))));
    const gaps = readings.flatMap((one) => one.gaps);
    const tokens = readings.reduce((sum, one) => sum + one.tokens, 0);
    const computeAdded = (p: number) => ms(Math.max(0, percentile(gaps, p) - GIVES_MS));
    const arrivals = gaps.length + readings.length;
    rows.push([
      server.name,
      atOnce,
      (tokens / arrivals).toFixed(2),
      computeAdded(50),
      computeAdded(90),
      computeAdded(99),
    ]);
  }
  return rows;
}

export const bench: Bench = {
  title: `tokens of a model that gives one every ${GIVES_MS} ms`,
  byName: true,
  async start({ rounds }) {
    await using started = new AsyncDisposableStack();
    const vars = { OFFLINE_MODEL_DELAY_MS: String(GIVES_MS) };
    const servers: Server[] = [started.use(await startPlain({ vars }))];
    for (const project of useIfInstalled(() => setUpPeer(undefined, GIVES_MS)))
      servers.push(started.use(await startPeer(project)));
    const rows: (string | number)[][] = [];
    for (const server of servers) rows.push(...(await measure(server, rounds)));
    console.log(`"Added": the time between two arrivals, less ${GIVES_MS} ms. Load: ${load()}.\n`);
    table(["server", "at once", "tokens an arrival", "added, p50", "p90", "p99"], rows);
  },
};

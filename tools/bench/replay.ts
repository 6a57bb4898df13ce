/** How long a reader takes to catch up with a finished run of 10,000 tokens. */
import { ms, table } from "./figures.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";
import { startPlain } from "./servers/plain.ts";

const TOKENS = chooseAmount(10_000, 50);

export const bench: Bench = {
  title: "replay of a finished run",
  async start() {
    await using server = await startPlain();
    const { client } = server;
    const { thread_id } = await client.threads.create();
    const input = { messages: [{ role: "user", content: `count to ${TOKENS}` }] };
    const options = { input, streamMode: "messages-tuple" as const, streamResumable: true };
    const { run_id } = await client.runs.create(thread_id, "agent", options);
    await client.runs.join(thread_id, run_id);
    const start = performance.now();
    let events = 0;
    const replay = client.runs.joinStream(thread_id, run_id, { lastEventId: "-1", streamMode: "messages-tuple" });
    for await (const _event of replay) events += 1;
    table(
      ["events", "time", "events/s"],
      [[events, ms(performance.now() - start), Math.round((events / (performance.now() - start)) * 1000)]],
    );
  },
};

/** The streaming protocol: replay of a long run, many readers on one thread, and what a token weighs. */
import { sseEvents } from "../../test/support/sse.ts";
import { ms, table } from "./figures.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";
import { startPlain } from "./servers/plain.ts";

const READERS = chooseAmount(200, 4);
/** Tokens of the run that is replayed, and of the one that many read. */
const LONG = chooseAmount(10_000, 50);
const LIVE = chooseAmount(500, 20);

interface Event {
  seq: number;
  method: string;
  params: { namespace: string[]; data: { event?: string } };
}

export const bench: Bench = {
  title: "the streaming protocol: replay, readers, bytes",
  async start() {
    await using weir = await startPlain();
    const headers = { ...weir.headers, "content-type": "application/json" };
    const post = async (path: string, body: object) =>
      fetch(weir.url + path, { method: "POST", headers, body: JSON.stringify(body) });

    /** Starts a run of this many tokens; returns its thread. */
    const start = async (tokens: number, thread: string = crypto.randomUUID()) => {
      const params = { assistant_id: "agent", input: { messages: [{ type: "human", content: `count to ${tokens}` }] } };
      await (await post(`/threads/${thread}/commands`, { id: 1, method: "run.start", params })).text();
      return thread;
    };

    /** Reads the run to its end: how many events, how many token deltas and their bytes on the wire. */
    const read = async (thread: string) => {
      const channels = ["values", "checkpoints", "lifecycle", "input", "messages", "tools"];
      let [events, tokens, bytes] = [0, 0, 0];
      for await (const { event, data, id } of sseEvents(await post(`/threads/${thread}/stream/events`, { channels }))) {
        const { params } = data as Event;
        events += 1;
        if (params.data.event === "content-block-delta") {
          tokens += 1;
          bytes += `event: ${event}\ndata: ${JSON.stringify(data)}\nid: ${id}\n\n`.length;
        }
        if (event === "lifecycle" && params.namespace.length === 0 && params.data.event !== "running") break;
      }
      return { events, tokens, bytes };
    };

    const long = await start(LONG);
    await read(long);
    const replayFrom = performance.now();
    const replayed = await read(long);
    const replayMs = performance.now() - replayFrom;

    const many = await start(1);
    await read(many);
    const readers = Array.from({ length: READERS }, async () => {
      const channels = ["messages", "lifecycle"];
      const response = await post(`/threads/${many}/stream/events`, { channels });
      let ends = 0;
      let events = 0;
      for await (const { event, data } of sseEvents(response)) {
        const { params } = data as Event;
        events += 1;
        if (event === "lifecycle" && params.namespace.length === 0 && params.data.event !== "running") ends += 1;
        if (ends === 2) return { events, at: performance.now() };
      }
      return { events, at: Number.NaN };
    });
    const liveFrom = performance.now();
    await start(LIVE, many);
    const got = await Promise.all(readers);
    const lastMs = Math.max(...got.map(({ at }) => at)) - liveFrom;

    table(
      ["measure", "figure"],
      [
        [`replay of ${replayed.events} events`, ms(replayMs)],
        [`${READERS} readers, ${LIVE} tokens live: the last has the last event after`, ms(lastMs)],
        ["events delivered to them", got.reduce((sum, { events }) => sum + events, 0)],
        ["bytes on the wire a token", Math.round(replayed.bytes / replayed.tokens)],
      ],
    );
  },
};

/** The streaming protocol while the server is killed: a reader with a cursor, a reader without, the stock client. */
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expectKept, numberEvents } from "../support/live-tokens.ts";
import { seeded } from "../support/random.ts";
import { type KillableServer, startKillable } from "../support/server.ts";
import { sseEvents } from "../support/sse.ts";
import { chooseAmount } from "../support/thorough.ts";

const KILLS = chooseAmount("KILLS", 1, 50);
const random = seeded("kills of streams");
const CHANNELS = ["values", "checkpoints", "updates", "messages", "tools", "lifecycle", "input", "tasks", "custom"];
const SAYS = ["What is 17 * 23, and what is the time?", "count to 200", "Tell me all that you can do for me, please"];

interface Event {
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; data: { event?: string } };
}

let server: KillableServer;
beforeAll(async () => {
  server = await startKillable({ OFFLINE_MODEL_DELAY_MS: "8" });
});
afterAll(() => server.stop());

const isRoot = ({ method, params }: Event) => method === "lifecycle" && params.namespace.length === 0;
const isEnd = (event: Event) => isRoot(event) && event.params.data.event !== "running";

async function post(path: string, body: object): Promise<Response> {
  const headers = { ...server.headers, "content-type": "application/json" };
  return fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Reads on from where `seen` is, until the run's end, the server's death, or `maxBytes`. */
async function readOn(thread: string, seen: Event[], maxBytes?: number): Promise<void> {
  const last = seen.at(-1);
  const cursor = last && (random.next() < 0.5 ? { since: last.seq } : { since_event_id: last.event_id });
  try {
    const response = await post(`/threads/${thread}/stream/events`, { channels: CHANNELS, ...cursor });
    for await (const { data } of sseEvents(response, maxBytes)) {
      seen.push(data as Event);
      if (isEnd(data as Event)) return;
    }
  } catch {
    // The server was killed, or is not up again.
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs that are open at each kill. */
const OPEN = 5;

async function start(n: number): Promise<{ id: string; seen: Event[] }> {
  const id = crypto.randomUUID();
  const input = { messages: [{ type: "human", content: SAYS[n % SAYS.length] }] };
  const answer = await post(`/threads/${id}/commands`, {
    id: 1,
    method: "run.start",
    params: { assistant_id: n % OPEN === 3 ? "research" : "agent", input },
  });
  expect(await answer.json()).toMatchObject({ type: "success", meta: { applied_through_seq: 1 } });
  return { id, seen: [] };
}

const timeout = 120_000 + KILLS * 20_000;

it(
  "every event comes once and in order, with one beginning and end, through kills and lost connections",
  { timeout },
  async () => {
    const threads: { id: string; seen: Event[] }[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const open = threads.filter(({ seen }) => !seen.some(isEnd));
      while (open.length < OPEN) {
        const begun = await start(threads.length);
        threads.push(begun);
        open.push(begun);
      }
      const reading = open.map(async ({ id, seen }) =>
        readOn(id, seen, random.next() < 0.3 ? random.between(500, 20_000) : undefined),
      );
      await pause(random.between(50, 600));
      await server.kill();
      await Promise.all(reading);
      await server.restart();
    }
    console.log(`kills: ${KILLS}, runs: ${threads.length}`);
    for (const { id, seen } of threads) {
      while (!seen.some(isEnd)) await readOn(id, seen);
      expect(seen.filter(isRoot).map(({ params }) => params.data.event)).toEqual(["running", "completed"]);
      expect(seen.map(({ seq }) => seq)).toEqual([...new Set(seen.map(({ seq }) => seq))].sort((a, b) => a - b));
      expect(new Set(seen.map((event) => event.event_id)).size).toBe(seen.length);
      const replay: Event[] = [];
      await readOn(id, replay);
      expectKept(numberEvents(seen), numberEvents(replay));
    }
  },
);

it("the stock client continues automatically, over both transports", async () => {
  const client = new Client({ apiUrl: server.url, apiKey: server.key });
  const threads = (["sse", "websocket"] as const).map((transport) => {
    const webSocketFactory = (url: string) => new WebSocket(url, { headers: server.headers } as unknown as string[]);
    const plain = transport === "sse" ? client : new Client({ apiUrl: server.url, apiKey: null as never });
    const options = { assistantId: "agent", transport, ...(transport === "websocket" && { webSocketFactory }) };
    return plain.threads.stream(crypto.randomUUID(), options as never);
  });
  const outputs: Promise<unknown>[] = [];
  for (const thread of threads) {
    await thread.run.start({ input: { messages: [{ role: "user", content: "count to 150" }] } });
    outputs.push(thread.output);
  }
  await pause(random.between(100, 500));
  await server.kill();
  await server.restart();
  for (const output of outputs) {
    const { messages } = (await output) as { messages: { content: string }[] };
    expect(messages.at(-1)?.content).toMatch(/\b150\b/);
  }
  await Promise.all(threads.map((thread) => thread.close()));
});

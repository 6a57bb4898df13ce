/**
 * Fifty stock streaming clients that start at once, round after round: none may wait without end. `ROUNDS` sets the
 * rounds; the slowest client of each kind is printed. A client that does not end in `PATIENCE_MS` is named with the
 * events it had.
 */
import { Client as Client11 } from "langgraph-sdk-1-11";
import { Client as Client15 } from "@langchain/langgraph-sdk";
import { Client as Client20 } from "langgraph-sdk-2-0";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { ALL } from "../support/thorough.ts";

const CLIENTS = 50;
const ROUNDS = Number(process.env.ROUNDS ?? (ALL ? 2 : 1));
const PATIENCE_MS = 300_000;
const ANSWER = Array.from({ length: 20 }, (_, i) => i + 1).join(" ");
const input = { messages: [{ role: "user", content: "count to 20" }] };

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer("open");
});
afterAll(() => server.stop());

/** Runs a client to its end and returns the agent's answer. Calls `heard` for each event. */
type Script = (heard: () => void) => Promise<string | undefined>;
interface State {
  messages: { content: string }[];
}
const readAnswer = (state: unknown) => (state as State | undefined)?.messages.at(-1)?.content;
const options = () => ({ apiUrl: server.url, apiKey: null as never, callerOptions: { maxRetries: 0 } });

/** `client.threads.stream`: the answer as its messages assemble it, while its output and values are read too. */
const stream =
  (Client: typeof Client15, transport: "sse" | "websocket"): Script =>
  async (heard) => {
    const client = new Client(options());
    const thread = client.threads.stream(crypto.randomUUID(), { assistantId: "agent", transport });
    thread.onEvent(heard);
    const { messages } = thread;
    await thread.run.start({ input });
    const texts: string[] = [];
    for await (const message of messages) texts.push(await message.text);
    const output = await thread.output;
    await thread.close();
    return texts.at(-1) === readAnswer(output) ? texts.at(-1) : undefined;
  };

/** `client.runs.stream`. */
const run =
  (Client: typeof Client15): Script =>
  async (heard) => {
    const client = new Client(options());
    const { thread_id } = await client.threads.create();
    let state: unknown;
    for await (const { event, data } of client.runs.stream(thread_id, "agent", {
      input,
      streamMode: ["values", "messages-tuple"],
    })) {
      heard();
      if (event === "values") state = data;
    }
    return readAnswer(state);
  };

/** `client.runs.create`, then `client.runs.joinStream`. */
const join: Script = async (heard) => {
  const client = new Client15(options());
  const { thread_id } = await client.threads.create();
  const { run_id } = await client.runs.create(thread_id, "agent", { input });
  let state: unknown;
  for await (const { event, data } of client.runs.joinStream(thread_id, run_id)) {
    heard();
    if (event === "values") state = data;
  }
  return readAnswer(state ?? (await client.threads.getState(thread_id)).values);
};

const Old = Client11 as unknown as typeof Client15;
const KINDS: [kind: string, script: Script][] = [
  ["threads.stream 1.15.0 over SSE", stream(Client15, "sse")],
  ["threads.stream 1.15.0 over WebSocket", stream(Client15, "websocket")],
  ["threads.stream 1.11.0 over SSE", stream(Old, "sse")],
  ["threads.stream 1.11.0 over WebSocket", stream(Old, "websocket")],
  ["runs.stream 1.15.0", run(Client15)],
  ["runs.stream 2.0.0", run(Client20 as unknown as typeof Client15)],
  ["runs.joinStream 1.15.0", join],
];

interface Outcome {
  kind: string;
  answer: string | undefined;
  ms: number;
}

async function runWithin(kind: string, script: Script): Promise<Outcome> {
  let events = 0;
  const start = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`still waiting after ${events} events`), PATIENCE_MS);
  });
  const answer = await Promise.race([script(() => void (events += 1)), late]);
  clearTimeout(timer);
  return { kind, answer, ms: performance.now() - start };
}

it(
  `${CLIENTS} streaming clients at once all come to their end, ${ROUNDS} times`,
  { timeout: ROUNDS * (PATIENCE_MS + 10_000) },
  async () => {
    const slowest = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const started = Array.from({ length: CLIENTS }, (_, i) => KINDS[i % KINDS.length] as (typeof KINDS)[number]);
      const outcomes = await Promise.all(started.map(([kind, script]) => runWithin(kind, script)));
      for (const { kind, ms } of outcomes) slowest.set(kind, Math.max(slowest.get(kind) ?? 0, ms));
      expect(outcomes.filter(({ answer }) => answer !== ANSWER)).toEqual([]);
    }
    const figures = [...slowest].map(([kind, ms]) => `${kind}: ${(ms / 1000).toFixed(1)} s`);
    console.log(`${ROUNDS * CLIENTS} streams ended. The slowest of each kind: ${figures.join(", ")}`);
  },
);

import { afterAll, beforeAll, expect, it } from "vitest";
import { expectKept, numberFrames } from "../support/live-tokens.ts";
import { seeded } from "../support/random.ts";
import { expectNothingTwice } from "../support/run-events.ts";
import { type KillableServer, startKillable } from "../support/server.ts";
import { Cursor, type SseEvent } from "../support/sse.ts";
import { chooseAmount } from "../support/thorough.ts";

const KILLS = chooseAmount("KILLS", 1, 50);
const RUNS_PER_KIND = 2;
const random = seeded("kills");

/** The question, and the nodes that must have finished once each at the end of the run. */
const KINDS = [
  { assistant: "agent", says: "count to 300", nodes: ["agent"] },
  { assistant: "agent", says: "What is 17 * 24, and what is the time?", nodes: ["agent", "tools", "tools", "agent"] },
  {
    assistant: "research",
    says: "Should we move the archive to the edge?",
    nodes: ["agent", "tools", "tools", "agent"],
  },
];

type Kind = (typeof KINDS)[number];

interface Started {
  kind: Kind;
  thread: string;
  /** Path of the run; known once the server has accepted it. */
  run: string | undefined;
  cursor: Cursor;
}

let server: KillableServer;
beforeAll(async () => {
  server = await startKillable({ OFFLINE_MODEL_DELAY_MS: "6" });
});
afterAll(() => server.stop());

const headers = () => ({ ...server.headers, "content-type": "application/json" });
const get = async <T>(path: string) => (await fetch(server.url + path, { headers: headers() })).json<T>();

/**
 * Starts a run and reads it until it ends or the server is killed. Undefined when the server was killed before
 * accepting it.
 */
async function startAndRead(kind: Kind, onAccepted: () => void): Promise<Started> {
  const thread = `/threads/${crypto.randomUUID()}`;
  const started: Started = { kind, thread, run: undefined, cursor: new Cursor() };
  const body = JSON.stringify({
    assistant_id: kind.assistant,
    if_not_exists: "create",
    input: { messages: [{ role: "user", content: kind.says }] },
    stream_mode: ["messages-tuple", "updates", "tasks"],
    stream_subgraphs: true,
    stream_resumable: true,
  });
  try {
    const response = await fetch(`${server.url}${thread}/runs/stream`, { method: "POST", headers: headers(), body });
    expect(response.status).toBe(200);
    started.run = response.headers.get("content-location") ?? undefined;
    onAccepted();
    await started.cursor.read(response);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  return started;
}

async function waitUntilFinished(run: string): Promise<string> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const { status } = await get<{ status: string }>(run);
    if (!["pending", "running"].includes(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return "never finished";
}

interface Message {
  id: string;
  type: string;
  content: string;
}

const isToken = ({ event }: SseEvent) => event.split("|")[0] === "messages";

/** The text of a message, added up from its tokens. */
const joinTokens = (events: SseEvent[], id: string): string =>
  events
    .filter(isToken)
    .flatMap(({ data }) => ((data as [Message])[0].id === id ? [(data as [Message])[0].content] : []))
    .join("");

async function expectWhole(started: Started): Promise<void> {
  const { run, cursor, kind } = started;
  if (run === undefined) return;
  const again = { ...headers(), "last-event-id": cursor.lastId ?? "-1" };
  expect(await cursor.read(await fetch(`${server.url}${run}/stream`, { headers: again }))).toBe("ended");
  const whole = new Cursor();
  await whole.read(await fetch(`${server.url}${run}/stream`, { headers: { ...headers(), "last-event-id": "-1" } }));
  expectKept(numberFrames(cursor.events), numberFrames(whole.events));
  expectNothingTwice(whole.events, kind.nodes);
  const { values } = await get<{ values: { messages: Message[] } }>(`${started.thread}/state`);
  const said = values.messages.filter(({ type }) => type === "ai");
  for (const { events } of [cursor, whole])
    for (const { id, content } of said) expect(joinTokens(events, id)).toBe(content);
  expect(values.messages.map(({ type }) => type)).toEqual([
    "human",
    ...kind.nodes.map((node) => (node === "tools" ? "tool" : "ai")),
  ]);
}

it(
  `${KILLS} kill(s): every accepted run ends, is streamed completely and once, and repeats no finished node`,
  { timeout: 60_000 + KILLS * 60_000 },
  async () => {
    let acceptedRuns = 0;
    let cutOff = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const accepted = Promise.withResolvers<void>();
      const kinds = Array.from({ length: RUNS_PER_KIND }, () => KINDS).flat();
      const reading = Promise.all(kinds.map((kind) => startAndRead(kind, accepted.resolve)));
      // The first kill comes while an accepted run is under way, the others at any moment.
      if (kill === 0) await accepted.promise;
      await new Promise((resolve) => setTimeout(resolve, random.between(100, kill === 0 ? 1_000 : 2_500)));
      await server.kill();
      const started = (await reading).filter(({ run }) => run !== undefined);
      await server.restart();
      acceptedRuns += started.length;
      for (const { run } of started) expect(await waitUntilFinished(run ?? "")).toBe("success");
      for (const one of started) {
        const before = one.cursor.events.length;
        await expectWhole(one);
        if (one.cursor.events.length > before) cutOff += 1;
      }
    }
    console.log(`kills: ${acceptedRuns} runs accepted, ${cutOff} of them cut off and resumed`);
    expect(cutOff).toBeGreaterThan(0);
  },
);

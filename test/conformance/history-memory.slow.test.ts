/** A long history in the memory of a real server: a client that does not read makes nothing pile up. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { workerdMegabytes } from "../../tools/fuzz/memory.ts";
import { startServer, type TestServer } from "../support/server.ts";

/** Characters of one state, and how many states: together far more than an isolate may hold. */
const SIZE = 8_000_000;
const STATES = 40;
/** Megabytes: the states on their way, and what the runtime has not collected yet. Half of the whole history. */
const MOST = 160;

let server: TestServer;
let thread: string;

const megabytes = () => workerdMegabytes(process.pid);

async function post(path: string, body: unknown): Promise<Response> {
  const headers = { ...server.headers, "content-type": "application/json" };
  return fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(body) });
}

beforeAll(async () => {
  server = await startServer();
  thread = crypto.randomUUID();
  await post("/threads", { thread_id: thread, metadata: { graph_id: "echo" } });
  for (let i = 0; i < STATES; i += 1) {
    const values = { messages: [{ role: "user", content: i === 0 ? "x".repeat(SIZE) : `small ${i}` }] };
    const added = await post(`/threads/${thread}/state`, { values, as_node: "echo" });
    if (added.status !== 200) throw new Error(await added.text());
  }
}, 300_000);
afterAll(() => server.stop());

/** Opens the history and reads nothing of its body. */
async function open(): Promise<IncomingMessage> {
  const url = `${server.url}/threads/${thread}/history?limit=${STATES}`;
  const call = request(url, { headers: server.headers }).end();
  const answers: unknown[] = await once(call, "response");
  const response = answers[0] as IncomingMessage;
  expect(response.statusCode).toBe(200);
  return response.pause();
}

it("holds a few states at most for a client that does not read", async () => {
  const before = megabytes();
  const response = await open();
  let most = 0;
  // For as long as more arrives in the server: a history that piles up is whole within this time.
  for (let i = 0; i < 100; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    most = Math.max(most, megabytes());
  }
  console.log(`memory: ${before} MB before, at most ${most} MB while the client does not read`);
  // Without /proc there is no figure.
  expect(most - before).toBeLessThan(MOST);
  response.destroy();
}, 300_000);

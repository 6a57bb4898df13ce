/** Each run is evaluated once by each of three rules, and has one feedback of each, also where SIGKILL cuts one off. */
import { readdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "langsmith";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type KillableServer, startKillable } from "../support/server.ts";
import { seeded } from "../support/random.ts";
import { chooseAmount } from "../support/thorough.ts";
import { callAs } from "../support/workspace.ts";

const KILLS = chooseAmount("KILLS", 1, 10);
const RUNS = chooseAmount("RULE_RUNS", 60, 2_000);
/** Runs of one request. */
const AT_ONCE = Math.min(200, Math.ceil(RUNS / 3));
/** Looks without progress after which the server is killed once more. */
const STUCK = 20;
/** Milliseconds in which all is done. */
const WITHIN = 600_000 + 60 * RUNS;

interface Rule {
  id: string;
  stats: { taken: number; waiting: number; done: number; failed: number };
}

let server: KillableServer;
let receiver: Server;
let hook: string;
/** How often each delivery came. */
const deliveries = new Map<string, number>();

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const id = String(request.headers["weir-delivery"]);
    deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
    request.resume().on("end", () => response.end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const address = receiver.address();
  hook = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
  server = await startKillable({ ALLOW_PRIVATE_ADDRESSES: "true" });
});
afterAll(async () => {
  receiver.close();
  await server.stop();
});

const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(server, method, path, body);

async function sweep(): Promise<void> {
  await fetch(`${server.url}/cdn-cgi/handler/scheduled`).catch(() => undefined);
}

/** Lets time pass for a server that is down: leases run out, and messages count as lost. */
function letTimePass(): void {
  const folder = join(server.persistTo, "v3");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".sqlite")) continue;
    // A killed process may hold its lock for a moment yet.
    const store = new DatabaseSync(join(folder, name), { timeout: 10_000 });
    const hasTable = (table: string) => store.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table);
    if (hasTable("rule_runs")) store.exec("UPDATE rule_runs SET due = 0 WHERE state = 'due'");
    if (hasTable("rule_parts")) store.exec("UPDATE rule_parts SET touched_at = 0");
    store.close();
  }
}

it(`three rules work once on each of ${RUNS} runs, over ${KILLS} kill(s)`, { timeout: WITHIN }, async () => {
  const client = new Client({ apiUrl: server.url, apiKey: server.headers["x-api-key"], autoBatchTracing: false });
  const project = await client.createProject({ projectName: "rules" });
  const session_id = project.id;
  const rule = (display_name: string, more: object) =>
    call<Rule>("POST", "/api/v1/runs/rules", { display_name, session_id, sampling_rate: 1, ...more });
  const rules = [
    await rule("code", { code_evaluators: [{ code: "answer-length" }] }),
    await rule("hook", { webhooks: [{ url: hook }], filter: "eq(is_root, true)" }),
    await rule("both", { code_evaluators: [{ code: "answer-length" }], webhooks: [{ url: hook }] }),
  ];
  const ids: string[] = [];
  for (let at = 0; at < RUNS; at += AT_ONCE) {
    const runCreates = Array.from({ length: Math.min(AT_ONCE, RUNS - at) }, (_, i) => {
      const id = crypto.randomUUID();
      ids.push(id);
      const start = Date.now();
      const dotted_order = `${new Date(start).toISOString().replace(/[-:.]/g, "").slice(0, -1)}000Z${id}`;
      const times = { start_time: start, end_time: start + 5, trace_id: id, dotted_order };
      return { id, name: "r", run_type: "chain", session_name: "rules", inputs: { i }, outputs: { i }, ...times };
    });
    await client.batchIngestRuns({ runCreates });
  }
  const random = seeded("rule kills");
  const findLeastDone = async () => {
    const read = await Promise.all(rules.map(({ id }) => call<Rule>("GET", `/api/v1/runs/rules/${id}`)));
    return Math.min(...read.map(({ stats }) => stats.done));
  };
  const kill = async () => {
    await server.kill();
    letTimePass();
    await server.restart();
  };
  const untilDone = async (share: number) => {
    for (let [done, looks] = [0, 0]; done < Math.floor(RUNS * share); looks++) {
      // What a worker had taken that ended with the old process waits for its lease.
      if (looks === STUCK) await kill();
      await sweep();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const now = await findLeastDone();
      if (now !== done || looks === STUCK) looks = 0;
      done = now;
    }
  };
  for (let kills = 0; kills < KILLS; kills++) {
    await untilDone(kills / KILLS);
    await sweep();
    await new Promise((resolve) => setTimeout(resolve, random.between(20, 600)));
    await kill();
  }
  await untilDone(1);
  expect(await findLeastDone()).toBe(RUNS);
  const pairs: string[] = [];
  for (let at = 0; at < RUNS; at += 100) {
    const asked = { runIds: ids.slice(at, at + 100) };
    for await (const { run_id, feedback_source } of client.listFeedback(asked))
      pairs.push(`${run_id} ${String(feedback_source?.metadata?.["rule_id"])}`);
  }
  expect(new Set(pairs).size).toBe(pairs.length);
  expect(pairs).toHaveLength(2 * RUNS);
  // A delivery that was cut off is sent again under its id, by which its receiver knows it.
  expect(deliveries.size).toBe(2 * RUNS);
});

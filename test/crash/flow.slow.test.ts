/**
 * Flow control under SIGKILL: no run is lost, no slot is lost, and no key ever has more runs in progress than its rule allows. What
 * was in progress at once is read from the runs' own traces, which have the first begin and the end of each.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { seeded } from "../support/random.ts";
import { type KillableServer, startKillable } from "../support/server.ts";
import { chooseAmount } from "../support/thorough.ts";

const KILLS = chooseAmount("KILLS", 1, 50);
const KEYS = 3;
const RUNS_PER_KEY = 6;
const LIMIT = 2;
const random = seeded("flow");

let server: KillableServer;
beforeAll(async () => {
  server = await startKillable({ OFFLINE_MODEL_DELAY_MS: "6" });
});
afterAll(() => server.stop());

const headers = () => ({ ...server.headers, "content-type": "application/json" });
const call = async (path: string, body?: unknown, method = body === undefined ? "GET" : "POST") =>
  fetch(server.url + path, { method, headers: headers(), body: body === undefined ? undefined : JSON.stringify(body) });
const get = async <T>(path: string) => (await call(path)).json<T>();

interface Started {
  key: string;
  run_id: string;
  thread_id: string;
}

/** Starts a run; undefined when the server was killed before it answered. */
async function start(key: string): Promise<Started | undefined> {
  const body = {
    assistant_id: "agent",
    input: { messages: [{ role: "user", content: "count to 40" }] },
    metadata: { team: key },
    on_completion: "keep",
  };
  try {
    const response = await call("/runs", body);
    expect(response.status).toBe(200);
    return { key, ...(await response.json<Omit<Started, "key">>()) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return undefined;
  }
}

async function untilEnded({ thread_id, run_id }: Started): Promise<string> {
  for (let tries = 0; tries < 600; tries += 1) {
    const { status } = await get<{ status: string }>(`/threads/${thread_id}/runs/${run_id}`);
    if (!["pending", "running"].includes(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return "never ended";
}

/** When each run first began and when it ended, milliseconds. */
async function intervals(runs: Started[]): Promise<Map<string, { from: number; to: number }>> {
  const found = new Map<string, { from: number; to: number }>();
  for (let tries = 0; found.size < runs.length; tries += 1) {
    if (tries === 100) throw new Error(`Only ${found.size} of ${runs.length} runs have a trace.`);
    if (tries > 0) await new Promise((resolve) => setTimeout(resolve, 300));
    const [project] = await get<{ id: string }[]>("/api/v1/sessions?name=default");
    if (!project) continue;
    for (const { run_id } of runs.filter((run) => !found.has(run.run_id))) {
      const response = await call(`/api/v1/runs/${run_id}?session_id=${project.id}`);
      if (!response.ok) continue;
      const { start_time, end_time } = await response.json<{ start_time: string; end_time: string | null }>();
      if (end_time !== null) found.set(run_id, { from: Date.parse(`${start_time}Z`), to: Date.parse(`${end_time}Z`) });
    }
  }
  return found;
}

/** The most intervals at one moment. One that ends as another begins is over. */
function countMostAtOnce(all: { from: number; to: number }[]): number {
  return Math.max(0, ...all.map(({ from }) => all.filter((other) => other.from <= from && other.to > from).length));
}

async function slots(): Promise<number> {
  const { uses } = await get<{ uses: { held: number; waiting: number }[] }>("/api/v1/flow/use");
  return uses.reduce((sum, { held, waiting }) => sum + held + waiting, 0);
}

it(
  `${KILLS} kill(s): every run ends, no key has more than ${LIMIT} at once, and no slot stays held`,
  { timeout: 60_000 + KILLS * 60_000 },
  async () => {
    const rule = { key: "metadata.team", concurrency: LIMIT };
    expect((await call("/api/v1/flow/rules/teams", rule, "PUT")).status).toBe(200);
    let cut = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const keys = Array.from({ length: KEYS }, (_, i) => `kill ${kill} key ${i}`);
      const starting = keys.flatMap((key) => Array.from({ length: RUNS_PER_KEY }, () => start(key)));
      await Promise.race([Promise.all(starting), new Promise((resolve) => setTimeout(resolve, 1_500))]);
      await new Promise((resolve) => setTimeout(resolve, random.between(0, 1_200)));
      await server.kill();
      const runs = (await Promise.all(starting)).filter((run) => run !== undefined);
      await server.restart();
      expect(runs.length).toBeGreaterThan(0);
      const open = await Promise.all(
        runs.map(async (run) => (await get<{ status: string }>(`/threads/${run.thread_id}/runs/${run.run_id}`)).status),
      );
      cut += open.filter((status) => status === "pending").length;
      for (const run of runs) expect(await untilEnded(run)).toBe("success");
      await expect.poll(slots, { timeout: 90_000, interval: 200 }).toBe(0);
      const times = await intervals(runs);
      const atOnce = keys.map((key) =>
        countMostAtOnce(runs.filter((run) => run.key === key).map(({ run_id }) => times.get(run_id)!)),
      );
      expect(Math.max(...atOnce)).toBeLessThanOrEqual(LIMIT);
    }
    console.log(`flow: ${cut} runs waited for a slot when the server was killed`);
    expect(cut).toBeGreaterThan(0);
  },
);

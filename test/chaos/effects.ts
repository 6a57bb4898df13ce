/** Engines whose outcome is outside of the server: webhooks, files of an export, tokens. */
import { expect } from "vitest";
import { advance } from "../../src/exports/work.ts";
import type { ExportMessage } from "../../src/exports/deps.ts";
import {
  DAY_1,
  listExpectedRows,
  exportRow,
  MICROS_PER_DAY,
  newDestination,
  newExport,
  newProject,
  newWorld,
  readExport,
} from "../exports/support.ts";
import {
  Browser,
  readError,
  newClient as newOAuthClient,
  redeem,
  refresh,
  request,
  type Tokens,
  withToken,
} from "../access/oauth/person.ts";
import { makeRuns } from "../support/runs.ts";
import { pause } from "../support/aborts.ts";
import { jumps } from "../support/clock.ts";
import { injected, runReliably, runUnreliably } from "../support/failing-storage.ts";
import type { Fault } from "../support/fake-s3.ts";
import { get, newThread, say } from "../threads/client.ts";
import { type Client, isOutage, noteThread } from "./world.ts";

const STORE_FAULTS: Fault[] = [
  { kind: "status", status: 500, code: "InternalError" },
  { kind: "status", status: 503, code: "SlowDown" },
  { kind: "reset" },
  { kind: "lost" },
  { kind: "late-error" },
];

export const effects: Record<string, (client: Client) => Promise<void>> = {
  /** Several runs at once on one thread, each of which reports its end, also when the thread is then deleted. */
  async webhook(client) {
    const thread = await newThread(client);
    noteThread(client, thread);
    const body = {
      assistant_id: "echo",
      input: say("hello"),
      multitask_strategy: "enqueue",
      webhook: "https://hooks.example/run",
    };
    for (let i = client.random.between(1, 4); i > 0; i -= 1) {
      const { run_id } = await (await client.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
      client.traced.add(run_id);
      client.hooked.add(run_id);
      await get(client, `/threads/${thread}/runs/${run_id}/join`);
    }
    // What the runs have promised outlives them.
    if (client.random.next() < 0.5) await client.fetch(`/threads/${thread}`, { method: "DELETE" });
  },

  /**
   * An export whose messages are late, doubled, dropped and reordered, whose process stops, whose clock is set, and whose
   * store and database fail.
   */
  async export(client) {
    await runReliably(() => exportRuns(client));
  },

  /** A code and a refresh token each work once, a second use ends what they gave, and an access token works for an hour. */
  async oauth(client) {
    const id = await repeatUntilDone(() => newOAuthClient());
    const code = await repeatUntilDone(() => new Browser().allow(request(id), client));
    const since = Date.now();
    const uses = client.random.between(1, 3);
    const answers = await Promise.all(Array.from({ length: uses }, () => redeem(id, code)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    if (!good[0]) return;
    const first = await good[0].json<Tokens>();
    if (uses === 1) await expectHour(first, since);
    // The second use of the code has ended the tokens of the first one, unless it came before them.
    const next = await refresh(id, first.refresh_token);
    if (next.status !== 200) return expectRefused(next);
    const second = await next.json<Tokens>();
    const third = await refresh(id, second.refresh_token);
    if (third.status !== 200) return expectRefused(third);
    // Its successor was used, so it is spent.
    const spent = await refresh(id, first.refresh_token);
    expect(spent.status).not.toBe(200);
    if (spent.status < 500) expect((await refresh(id, second.refresh_token)).status).not.toBe(200);
  },
};

/** The token works until its hour has passed. `since`: when it was requested. */
async function expectHour({ access_token }: Tokens, since: number): Promise<void> {
  const received = Date.now();
  const { status } = await withToken("/assistants/count", access_token, undefined, "POST");
  if (status >= 500) return;
  // An isolate caches a credential for five seconds. A clock that was set back makes the token older than it looks.
  if (Date.now() - since < HOUR_MS - SLACK_MS) expect(status).not.toBe(401);
  if (received - since > HOUR_MS + SLACK_MS) expect(status).toBe(401);
}

const HOUR_MS = 3_600_000;
const SLACK_MS = 30_000;

/** Storage failed, or the grant has ended. */
async function expectRefused(response: Response): Promise<void> {
  if (response.status < 500) expect(await readError(response)).toEqual([400, "invalid_grant"]);
}

/** A person begins again when storage failed, or when the clock was set and something has expired. */
async function repeatUntilDone<T>(work: () => Promise<T>): Promise<T> {
  const causes = () => injected.count + jumps.count;
  const before = causes();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (causes() === before) throw error;
      await pause(200);
    }
  }
}

async function exportRuns(client: Client): Promise<void> {
  const { random } = client;
  let die: () => void = () => undefined;
  const world = newWorld({
    limits: { sliceRows: 50, pageRows: 20, lease: 60_000, partBytes: 4_096 },
    fault: () => (random.next() < 0.05 ? STORE_FAULTS[random.between(0, STORE_FAULTS.length)] : undefined),
    at: () => {
      if (random.next() < 0.03) world.clock.now += random.between(-5_000, 10 * 60_000);
      if (random.next() > 0.02) return Promise.resolve();
      die();
      // Nothing after this line of the engine ever runs, as after a kill.
      return new Promise(() => undefined);
    },
  });
  const session_id = await newProject(world, client.workspaceId);
  const count = random.between(1, 120);
  const common = { tenantId: client.workspaceId, projectId: session_id, from: DAY_1, spread: MICROS_PER_DAY };
  world.runs = makeRuns({ ...common, count, seed: random.between(0, 1e9), size: 200 });
  const bulk_export_destination_id = await newDestination(world, client.workspaceId);
  const input = { bulk_export_destination_id, session_id, end_time: DAY_1 + MICROS_PER_DAY };
  const job = await newExport(world, client.workspaceId, { ...input, compression: "none" });
  await world.settle({
    minutes: 60,
    deliver: (wakes) => {
      const late = wakes.filter(() => random.next() < 0.2);
      for (const wake of late) world.queue.push({ wake, due: world.clock.now + random.between(1, 20 * 60_000) });
      return [...wakes, ...wakes].filter(() => random.next() > 0.3);
    },
    handle: async (wake: ExportMessage) => {
      const killed = new Promise<void>((resolve) => (die = resolve));
      const before = injected.count;
      const work = runUnreliably(() => advance(world.deps, wake)).catch((error: unknown) => {
        if (!isOutage(error, before)) throw error;
        // A queue delivers a message again whose work failed.
        world.queue.push({ wake, due: world.clock.now + 1_000 });
      });
      await Promise.race([work, killed]);
    },
  });
  expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED" });
  const { rows, manifest } = await readExport(world.s3, job.id);
  expect(rows).toEqual(listExpectedRows(world.runs));
  expect(manifest?.rows).toBe(world.runs.length);
}

/** Engines whose outcome is outside of the server: webhooks, files of an export, tokens. */
import { expect } from "vitest";
import { advance } from "../../src/exports/advance.ts";
import type { ExportMessage } from "../../src/exports/deps.ts";
import { DAY_1, expectedRows, exportRow, MICROS_PER_DAY, newDestination, newExport } from "../exports/support.ts";
import { newProject, newWorld, readBack } from "../exports/support.ts";
import {
  Browser,
  errorOf,
  newClient as newOAuthClient,
  redeem,
  refresh,
  request,
  type Tokens,
} from "../oauth/person.ts";
import { makeRuns } from "../support/runs.ts";
import type { Fault } from "../support/fake-s3.ts";
import { get, newThread, say } from "../threads/client.ts";
import { type Client, noteThread } from "./world.ts";

const STORE_FAULTS: Fault[] = [
  { kind: "status", status: 500, code: "InternalError" },
  { kind: "status", status: 503, code: "SlowDown" },
  { kind: "reset" },
  { kind: "lost" },
  { kind: "late-error" },
];

export const effects: Record<string, (client: Client) => Promise<void>> = {
  /** Several runs at once on one thread, each of which reports its end. */
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
  },

  /** An export whose messages are doubled, dropped and reordered, whose process stops, and whose store fails. */
  async export(client) {
    const { random } = client;
    let die: () => void = () => undefined;
    const world = newWorld({
      limits: { sliceRows: 50, pageRows: 20, lease: 60_000, partBytes: 4_096 },
      fault: () => (random.next() < 0.05 ? STORE_FAULTS[random.between(0, STORE_FAULTS.length)] : undefined),
      at: () => {
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
      deliver: (wakes) => [...wakes, ...wakes].filter(() => random.next() > 0.3),
      handle: async (wake: ExportMessage) => {
        const killed = new Promise<void>((resolve) => (die = resolve));
        await Promise.race([advance(world.deps, wake), killed]);
      },
    });
    expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED" });
    const { rows, manifest } = await readBack(world.s3, job.id);
    expect(rows).toEqual(expectedRows(world.runs));
    expect(manifest?.rows).toBe(world.runs.length);
  },

  /** A code and a refresh token each work once, and a second use ends what they gave. */
  async oauth(client) {
    const id = await newOAuthClient();
    const code = await new Browser().allow(request(id), client);
    const both = await Promise.all([redeem(id, code), redeem(id, code)]);
    const good = both.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    if (!good[0]) return;
    const first = await good[0].json<Tokens>();
    // The second use of the code has ended the tokens of the first one, unless it came before them.
    const next = await refresh(id, first.refresh_token);
    if (next.status !== 200) return expect(await errorOf(next)).toEqual([400, "invalid_grant"]);
    expect((await refresh(id, first.refresh_token)).status).toBe(400);
  },
};

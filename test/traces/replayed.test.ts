/** Traces whose days are not those of the time in their ids: random ids that look like a UUIDv7, and traces that are sent again. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { database } from "../../src/db/client.ts";
import { segment, uuidTime, isoFromMicros } from "../../src/traces/time.ts";
import { announcePartition } from "../../src/traces/projects/partitions.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { ask } from "../support/examples.ts";
import { NOON, projectId, runParts, type Sent, sendMultipart, sentRun, uuid7 } from "../support/traces.ts";

const DAY_MICROS = 86_400_000_000;
/** A time of a day in 2011. */
const LONG_AGO = Date.UTC(2011, 2, 1, 12) * 1000;

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

/** A run of today whose id has the time of another day. */
function runWithId(id: string, more: Record<string, unknown>): Sent {
  return sentRun(NOON, { id, trace_id: id, dotted_order: segment(NOON, id), start_time: isoFromMicros(NOON), ...more });
}

const listIds = ({ runs }: { runs: { id: string }[] }) => runs.map(({ id }) => id).sort();

describe("a trace whose id has the time of another day", () => {
  it.each([
    ["replayed", uuid7(LONG_AGO)],
    ["random", "012f0b5a-9d00-7aaa-baaa-aaaaaaaaaaaa"],
  ])("is found by it, with and without its project, and in a shared link: %s", async (name, id) => {
    const root = runWithId(id, { session_name: name });
    const child = sentRun(NOON + DAY_MICROS, { session_name: name }, root);
    await sendMultipart(caller, [...runParts("post", root), ...runParts("post", child)]);
    const project = await projectId(caller, name);
    const wanted = [root.id, child.id].sort();

    expect(listIds(await ask(caller, "/runs/query", { body: { session: [project], trace: id } }))).toEqual(wanted);
    expect(listIds(await ask(caller, "/runs/query", { body: { trace: id } }))).toEqual(wanted);
    for (const query of ["", `?project_id=${project}`]) {
      const tree = await ask<{ items: { id: string }[] }>(caller, `/api/v2/traces/${id}/runs${query}`);
      expect(tree.items.map((run) => run.id).sort()).toEqual(wanted);
    }
    expect(await ask(caller, "/runs/stats", { body: { session: [project], trace: id } })).toMatchObject({
      run_count: 2,
    });
    const { share_token } = await ask<{ share_token: string }>(caller, `/runs/${id}/share`, {
      method: "PUT",
      body: {},
    });
    const shared = await ask<{ id: string }[]>(caller, `/public/${share_token}/runs`);
    expect(shared.map((run) => run.id).sort()).toEqual(wanted);
  });

  it("is read in its project, also when that has more recent days than a search without a project reads", async () => {
    const root = runWithId(crypto.randomUUID(), { session_name: "long" });
    await sendMultipart(caller, runParts("post", root));
    const project = await projectId(caller, "long");
    const { workspaceId } = caller;
    for (let i = 1; i <= 60; i++) {
      const day = isoFromMicros(NOON + i * DAY_MICROS).slice(0, 10);
      await announcePartition(database(env.DB), { workspaceId, projectId: project, day, shard: 0 });
    }
    expect(await ask(caller, `/api/v2/runs/${root.id}?project_id=${project}`)).toMatchObject({ id: root.id });
  });
});

describe("the time in an id", () => {
  it("is that of a UUIDv7 with the variant of RFC 9562 only", () => {
    const time = (variant: string) => uuidTime(`019a9d5a-1b2c-7000-${variant}000-000000000000`);
    for (const variant of "89abAB") expect(time(variant)).toBe(0x019a9d5a1b2c * 1000);
    for (const variant of "01234567cdefCDEF") expect(time(variant)).toBeUndefined();
    expect(uuidTime("019a9d5a-1b2c-4000-8000-000000000000")).toBeUndefined();
  });
});

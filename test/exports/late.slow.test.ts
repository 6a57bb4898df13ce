/** What comes after its window was exported: with real partitions, a store in memory and a clock of the test's own. */
import { env, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { sweep } from "../../src/exports/schedule.ts";
import { tracePartition } from "../../src/traces/stub.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { DAY, NOON, projectId, runParts, type Sent, sendMultipart, sentRun } from "../support/traces.ts";
import { forgetExports, newDestination, newExport, newWorld, readExport, type World } from "./support.ts";

const START = Date.parse(`${DAY}T00:00:00Z`);
const HOUR = 3_600_000;
const DAY_MS = 24 * HOUR;

interface Input {
  interval_hours?: number;
  end_time?: number;
  filter?: string;
  session_id?: undefined;
}

async function stage(input: Input) {
  const caller = await newCaller();
  await caller.fetch("/sessions", { body: { name: "tests" } });
  const session_id = await projectId(caller);
  const world = newWorld({ now: START });
  world.deps.partition = (workspaceId, place) => tracePartition(env, workspaceId, place);
  const job = await newExport(world, caller.workspaceId, {
    bulk_export_destination_id: await newDestination(world, caller.workspaceId),
    session_id,
    start_time: START * 1000,
    ...input,
  });
  const object = (shard: number, day = DAY) =>
    env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${session_id}/${day}${shard === 0 ? "" : `#${shard}`}`);
  return { caller, world, job, session_id, object };
}

/** Sends runs and makes their partition update D1, as its alarm does after two seconds. */
async function send(caller: Caller, runs: Sent[], objects: DurableObjectStub[], kind: "post" | "patch" = "post") {
  expect(
    (
      await sendMultipart(
        caller,
        runs.flatMap((run) => runParts(kind, run)),
      )
    ).status,
  ).toBe(202);
  await register(objects);
}

async function register(objects: DurableObjectStub[]) {
  for (const object of objects)
    await runInDurableObject(object, (partition) => (partition as { alarm(): unknown }).alarm());
}

/** Exports the schedule's window k and gives what a reader of the bucket finds of it. */
async function tick(world: World, scheduleId: string, k: number, hours = 24) {
  world.clock.now = START + k * hours * HOUR + 10 * 60_000;
  await sweep(world.deps);
  const spawned = await env.DB.prepare("SELECT id FROM bulk_exports WHERE source_export_id = ? AND spawned = ?")
    .bind(scheduleId, k)
    .first<{ id: string }>();
  if (!spawned) throw new Error(`window ${k} was not spawned`);
  await world.settle({ minutes: 3 });
  const { manifest, rows, keys } = await readExport(world.s3, spawned.id);
  const late = keys.map((key, file) => ({ key, file })).filter(({ key }) => key.includes("/late-"));
  return { id: spawned.id, manifest, rows, late: late.map(({ key }) => key) };
}

beforeEach(forgetExports);

const names = (rows: Record<string, unknown>[]) => rows.map((row) => String(row["name"])).sort();

describe("a schedule", () => {
  it("exports late runs, late patches and late feedback with its next window, each once", async () => {
    const { caller, world, job, object } = await stage({ interval_hours: 24 });
    const day = [object(0)];
    const first = sentRun(NOON, { name: "first" });
    const untouched = sentRun(NOON + 1, { name: "untouched" });
    await send(caller, [first, untouched], day);
    const one = await tick(world, job.id, 1);
    expect(names(one.rows)).toEqual(["first", "untouched"]);
    expect(one.manifest).toMatchObject({ partitions: [{ rows: 2 }], late: [] });

    const late = sentRun(NOON + 2, { name: "late" });
    await send(caller, [late], day);
    await send(caller, [{ ...first, outputs: { patched: true } }], day, "patch");
    const two = await tick(world, job.id, 2);
    expect(names(two.rows)).toEqual(["first", "late"]);
    expect(two.rows.find((row) => row["id"] === first.id)?.["outputs"]).toBe('{"patched":true}');
    expect(two.manifest?.partitions).toMatchObject([{ day: "2026-11-21", rows: 0 }]);
    expect(two.manifest?.late).toMatchObject([{ day: DAY, rows: 2, files: [{ key: two.late[0], rows: 2 }] }]);
    expect(two.late[0]).toMatch(/\/year=2026\/month=11\/day=20\/late-2-00000\.parquet$/);

    expect((await tick(world, job.id, 3)).manifest?.late).toEqual([]);
    await caller.fetch("/feedback", { body: { run_id: late.id, key: "mood", score: 1 } });
    await register(day);
    const four = await tick(world, job.id, 4);
    expect(names(four.rows)).toEqual(["late"]);
    expect(String(four.rows[0]?.["feedback_stats"])).toContain("mood");
  });

  it("finds what comes late within its day, on an empty day and in a new shard", async () => {
    const { caller, world, job, object } = await stage({ interval_hours: 1 });
    // Nothing on the day when its first window is exported.
    expect((await tick(world, job.id, 1, 1)).manifest).toMatchObject({ partitions: [{ rows: 0 }], late: [] });
    const early = sentRun(START * 1000 + 5, { name: "early" });
    const second = sentRun((START + HOUR) * 1000 + 5, { name: "second" });
    await runInDurableObject(object(0), (partition) => {
      const own = partition as unknown as { env: Env };
      own.env = { ...own.env, TRACE_SHARD_BYTES: "1" };
    });
    await send(caller, [early, second], [object(0)]);
    const two = await tick(world, job.id, 2, 1);
    expect(two.manifest).toMatchObject({ partitions: [{ rows: 1 }], late: [{ day: DAY, rows: 1 }] });
    expect(names(two.rows)).toEqual(["early", "second"]);

    const inNewShard = sentRun(START * 1000 + 6, { name: "in shard 1" });
    await send(caller, [inNewShard], [object(0), object(1)]);
    const three = await tick(world, job.id, 3, 1);
    expect(names(three.rows)).toEqual(["in shard 1"]);
    expect(three.late).toMatchObject([expect.stringMatching(/\/late-3-s01-00000\.parquet$/)]);
    expect((await tick(world, job.id, 4, 1)).manifest?.late).toEqual([]);
  });

  it("over all experiments exports late runs of an experiment that is made after its windows", async () => {
    const { caller, world, job } = await stage({ interval_hours: 1, session_id: undefined });
    const dataset = await caller.fetch("/datasets", { body: { name: "questions" } });
    const { id: reference_dataset_id } = await dataset.json<{ id: string }>();
    const experiment = async (name: string) => {
      const made = await caller.fetch("/sessions", { body: { name, reference_dataset_id } });
      const { id: session_id } = await made.json<{ id: string }>();
      return { session_id, object: env.TRACE_PARTITION.getByName(`${caller.workspaceId}/${session_id}/${DAY}`) };
    };
    const first = await experiment("first");
    await send(caller, [sentRun(START * 1000 + 5, { name: "in time", session_id: first.session_id })], [first.object]);
    expect(names((await tick(world, job.id, 1, 1)).rows)).toEqual(["in time"]);
    expect(names((await tick(world, job.id, 2, 1)).rows)).toEqual([]);

    const second = await experiment("second");
    const { session_id } = second;
    const late = [0, 1].map((hour) => sentRun((START + hour * HOUR) * 1000 + 5, { name: `hour ${hour}`, session_id }));
    const inTime = sentRun((START + 2 * HOUR) * 1000 + 5, { name: "hour 2", session_id });
    await send(caller, [...late, inTime], [second.object]);
    const three = await tick(world, job.id, 3, 1);
    expect(names(three.rows)).toEqual(["hour 0", "hour 1", "hour 2"]);
    expect(three.manifest?.late).toMatchObject([{ session_id, day: DAY, rows: 2 }]);
    expect((await tick(world, job.id, 4, 1)).manifest?.late).toEqual([]);

    await send(caller, [{ ...(late[1] as Sent), outputs: {}, session_id }], [second.object], "patch");
    expect(names((await tick(world, job.id, 5, 1)).rows)).toEqual(["hour 1"]);
    expect((await tick(world, job.id, 6, 1)).manifest?.late).toEqual([]);
  });

  it("exports no run of a window again that has not changed since", async () => {
    const { caller, world, job, object } = await stage({ interval_hours: 1 });
    const day = [object(0)];
    const runs = [0, 1].map((hour) => sentRun((START + hour * HOUR) * 1000 + 5, { name: `hour ${hour}` }));
    const [first, second] = runs as [Sent, Sent];
    await send(caller, [first], day);
    expect(names((await tick(world, job.id, 1, 1)).rows)).toEqual(["hour 0"]);
    await send(caller, [second], day);
    // Both runs change between the window's own run and its late one, so one of these sees the change and the other does not.
    world.deps.at = async (point) => {
      if (point !== "after commit") return;
      world.deps.at = async () => undefined;
      await send(
        caller,
        [first, second].map((run) => ({ ...run, outputs: {} })),
        day,
        "patch",
      );
    };
    expect((await tick(world, job.id, 2, 1)).rows).not.toEqual([]);
    expect((await tick(world, job.id, 3, 1)).rows).toHaveLength(1);
    expect((await tick(world, job.id, 4, 1)).manifest?.late).toEqual([]);
  });

  it("names the traces that were deleted in its window", async () => {
    const { caller, world, job, session_id } = await stage({ interval_hours: 24 });
    const note = async (project: string, trace: string, at: number) =>
      env.DB.prepare("INSERT INTO trace_deletions VALUES (?, ?, ?, ?)")
        .bind(caller.workspaceId, project, trace, at)
        .run();
    await note(session_id, "before", START - 1);
    await note(session_id, "first", START);
    await note(session_id, "last", START + DAY_MS - 1);
    await note(session_id, "after", START + DAY_MS);
    await note("another project", "other", START);
    const createDeletion = (trace_id: string, at: number) => ({
      session_id,
      trace_id,
      deleted_at: new Date(at).toISOString(),
    });
    const one = await tick(world, job.id, 1);
    expect(one.manifest?.deleted).toEqual([createDeletion("first", START), createDeletion("last", START + DAY_MS - 1)]);
    expect((await tick(world, job.id, 2)).manifest?.deleted).toEqual([createDeletion("after", START + DAY_MS)]);
    expect((await tick(world, job.id, 3)).manifest?.deleted).toEqual([]);
  });

  it("exports what comes after a partition was destroyed and made again", async () => {
    const { caller, world, job, session_id, object } = await stage({ interval_hours: 24 });
    const run = sentRun(NOON, { name: "first" });
    await send(caller, [run], [object(0)]);
    await send(caller, [{ ...run, outputs: {} }], [object(0)], "patch");
    expect(names((await tick(world, job.id, 1)).rows)).toEqual(["first"]);
    const place = { projectId: session_id, day: DAY, shard: 0 };
    await tracePartition(env, caller.workspaceId, place).destroy({ workspaceId: caller.workspaceId, ...place });
    await send(caller, [sentRun(NOON + 1, { name: "late" })], [object(0)]);
    expect(names((await tick(world, job.id, 2)).rows)).toEqual(["late"]);
  });

  it("waits with late runs while an earlier window is being exported", async () => {
    const { caller, world, job, object } = await stage({ interval_hours: 24 });
    const run = sentRun(NOON, { name: "first" });
    await send(caller, [run], [object(0)]);
    await tick(world, job.id, 1);
    await send(caller, [{ ...run, outputs: {}, name: "changed" }], [object(0)], "patch");
    world.clock.now = START + 3 * DAY_MS + 10 * 60_000;
    await sweep(world.deps);
    await world.settle({ minutes: 3 });
    // Windows 2 and 3 were spawned together, so only the first of them has late runs.
    expect((await tick(world, job.id, 4)).manifest?.late).toEqual([]);
    const late = [...world.s3.objects.keys()].filter((key) => key.includes("/late-"));
    expect(late).toMatchObject([expect.stringMatching(/\/late-2-00000/)]);
  });
});

it("an export has a run once whose start_time moves while it is read, also to another slice", async () => {
  const { caller, world, job, object } = await stage({ end_time: (START + DAY_MS) * 1000 });
  const { deps } = world;
  deps.limits = { ...deps.limits, pageRows: 2, sliceRows: 4 };
  const runs = Array.from({ length: 12 }, (_, n) => sentRun(NOON + n, { name: `run ${n}` }));
  await send(caller, runs, [object(0)]);
  let pages = 0;
  const move = async (n: number, to: number) => {
    const { dotted_order: _order, ...rest } = runs[n] as Sent;
    const start_time = new Date((NOON + to) / 1000)
      .toISOString()
      .replace("Z", `${String((NOON + to) % 1000).padStart(3, "0")}Z`);
    const moved = { ...rest, start_time } as Sent;
    await send(caller, [moved], [object(0)], "patch");
  };
  deps.partition = (workspaceId, place) => {
    const partition = tracePartition(env, workspaceId, place);
    return new Proxy(partition, {
      get: (target, name) => {
        if (name !== "readPage") return Reflect.get(target, name) as unknown;
        return async (request: Parameters<typeof target.readPage>[0]) => {
          const page = await target.readPage(request);
          // After the first page a run that is in it moves to the end, after the second one to the next slice, and back.
          pages++;
          if (pages === 1) await move(0, 20);
          if (pages === 2) await move(1, 9);
          if (pages === 3) await move(10, -5);
          if (pages === 4) await move(10, 30);
          return page;
        };
      },
    });
  };
  world.clock.now = START + 3 * DAY_MS;
  await world.settle({ minutes: 3 });
  const { manifest, rows, keys } = await readExport(world.s3, job.id);
  expect(keys.length).toBeGreaterThan(2);
  expect(rows.map(({ name }) => String(name)).sort()).toEqual(runs.map(({ name }) => name).sort());
  expect(manifest?.rows).toBe(12);
});

it("an export that is complete says how many runs of its window came or changed after it", async () => {
  const { caller, world, job, object } = await stage({
    end_time: (START + DAY_MS) * 1000,
    filter: 'neq(name, "other")',
  });
  const readLateRuns = async () =>
    (await (await caller.fetch(`/api/v1/bulk-exports/${job.id}`)).json<{ late_runs: number | null }>()).late_runs;
  const run = sentRun(NOON, { name: "first" });
  await send(caller, [run], [object(0)]);
  expect(await readLateRuns()).toBeNull();
  world.clock.now = START + 3 * DAY_MS;
  await world.settle({ minutes: 3 });
  expect(await readLateRuns()).toBe(0);
  await send(caller, [sentRun(NOON + 1, { name: "late" }), sentRun(NOON + 2, { name: "other" })], [object(0)]);
  await send(caller, [{ ...run, outputs: {} }], [object(0)], "patch");
  expect(await readLateRuns()).toBe(2);
});

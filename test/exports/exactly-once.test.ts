/**
 * Exactly once under faults: the process stops at each named point, messages are doubled, dropped and reordered, the
 * store fails in every way it can. In every case, the rows of the files are the rows of the source.
 *
 * `npm run test:soak` runs every combination with three seeds, EXPORT_MATRIX=20 with that many.
 */
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { bulkExports } from "../../src/exports/table.ts";
import type { CrashPoint, ExportMessage } from "../../src/exports/deps.ts";
import { advance } from "../../src/exports/work.ts";
import { sweep } from "../../src/exports/schedule.ts";
import type { StoredTraceRun } from "../../src/traces/types.ts";
import { savePartition } from "../../src/traces/projects/partitions.ts";
import { newCaller } from "../support/caller.ts";
import type { Fault } from "../support/fake-s3.ts";
import { generator, SEED } from "../support/random.ts";
import { makeRuns } from "../support/runs.ts";
import {
  DAY_1,
  forgetExports,
  listExpectedRows,
  exportRow,
  MICROS_PER_DAY,
  newDestination,
  newExport,
  newProject,
  newWorld,
  readExport,
  registerDay,
  type World,
} from "./support.ts";
import { chooseAmount, pickCases } from "../support/thorough.ts";

const DAY_2 = DAY_1 + MICROS_PER_DAY;
/** A window is exported ten minutes after its end. */
const DUE_AFTER = 600_000;

const POINTS: CrashPoint[] = [
  "claimed",
  "part uploaded",
  "before complete",
  "after complete",
  "before commit",
  "after commit",
  "before manifest",
  "after manifest",
  "before ack",
];
const FAULTS: Record<string, Fault[]> = {
  none: [],
  errors: [
    { kind: "status", status: 500, code: "InternalError" },
    { kind: "status", status: 503, code: "SlowDown" },
  ],
  network: [{ kind: "reset" }, { kind: "lost" }],
  everything: [
    { kind: "status", status: 500, code: "InternalError" },
    { kind: "status", status: 403, code: "RequestTimeTooSkewed" },
    { kind: "reset" },
    { kind: "lost" },
    { kind: "late-error" },
  ],
};
const SEEDS = chooseAmount("EXPORT_MATRIX", 0, 3);

interface Fire {
  seed: number;
  /** The process stops here, each time with this probability, up to `kills` times. */
  point?: CrashPoint;
  kills: number;
  faults: Fault[];
  messages: "as sent" | "doubled" | "dropped" | "shuffled";
}

async function survives({ seed, point, kills, faults, messages }: Fire): Promise<boolean> {
  const random = generator(seed);
  let left = kills;
  let die: () => void = () => undefined;
  const { workspaceId } = await newCaller();
  const world: World = newWorld({
    // Parts of 4 KB would be refused by S3; here they make every file a multipart upload.
    limits: { sliceRows: 50, pageRows: 20, lease: 60_000, partBytes: 4_096 },
    fault: () => (faults.length > 0 && random() < 0.06 ? faults[Math.floor(random() * faults.length)] : undefined),
    at: (reached) => {
      if (reached !== point || left <= 0 || (left < kills && random() < 0.4)) return Promise.resolve();
      left--;
      die();
      // Nothing after this line of the engine ever runs, as after a kill.
      return new Promise(() => undefined);
    },
  });
  const projectId = await newProject(world, workspaceId);
  const common = { tenantId: workspaceId, projectId, from: DAY_1, spread: 2 * MICROS_PER_DAY };
  // The second day has three shards, and the number of the last one leaves a gap.
  const pickShard = shardsFor(seed);
  world.pickShard = pickShard;
  for (const shard of [1, 3]) await registerDay(world, workspaceId, projectId, DAY_2, shard);
  const runs = makeRuns({ ...common, count: 160, seed, size: 300 });
  const job = await newExport(world, workspaceId, {
    bulk_export_destination_id: await newDestination(world, workspaceId),
    session_id: projectId,
    end_time: DAY_1 + 2 * MICROS_PER_DAY,
    compression: "none",
  });
  world.runs = runs;
  await world.settle({
    minutes: 40,
    deliver: (wakes) => disturb(wakes, messages, random),
    handle: async (wake: ExportMessage) => {
      const killed = new Promise<void>((resolve) => (die = resolve));
      const worked = advance(world.deps, wake).then(() => world.deps.at("before ack"));
      await Promise.race([worked, killed]);
    },
  });
  const { status, error } = await exportRow(world, job.id);
  expect(status === "COMPLETED" ? status : error).toBe("COMPLETED");
  expect(point === undefined || left < kills).toBe(true);
  const { manifest, rows, keys } = await readExport(world.s3, job.id);
  // Files are read in the order of their names: the first shard of a day, then the others.
  const inOrder = [...runs].sort((a, b) => dayOrShard(a) - dayOrShard(b));
  expect(rows).toEqual(listExpectedRows(inOrder));
  expect(keys.filter((key) => /\/part-s0[13]-\d{5}\.parquet$/.test(key)).length).toBeGreaterThan(1);
  const listed = manifest?.partitions.flatMap(({ files }) => files) ?? [];
  expect(manifest?.partitions).toHaveLength(2);
  expect(listed.map(({ key }) => key).sort()).toEqual(keys);
  for (const { key, bytes } of listed) expect(world.s3.objects.get(key)).toHaveLength(bytes);
  return true;

  function dayOrShard(run: StoredTraceRun): number {
    return run.start_time < DAY_2 ? -1 : pickShard(run);
  }
}

/** Shards 0, 1 and 3 of the second day; the first day has one. */
function shardsFor(seed: number): (run: StoredTraceRun) => number {
  const shards = [0, 1, 3];
  return ({ start_time, id }) => (start_time < DAY_2 ? 0 : (shards[(id.charCodeAt(0) + seed) % 3] as number));
}

function disturb(wakes: ExportMessage[], how: Fire["messages"], random: () => number): ExportMessage[] {
  switch (how) {
    case "as sent":
      return wakes;
    case "doubled":
      return [...wakes, ...wakes];
    case "dropped":
      return wakes.filter(() => random() > 0.2);
    case "shuffled":
      return wakes
        .map((wake) => ({ wake, key: random() }))
        .sort((a, b) => a.key - b.key)
        .map(({ wake }) => wake);
  }
}

/** An owner with an expired lease continues while its successor works: its writes must have no effect. */
async function fences({ seed, point }: { seed: number; point: CrashPoint }): Promise<void> {
  const { workspaceId } = await newCaller();
  const world = newWorld({ limits: { sliceRows: 50, pageRows: 20, lease: 60_000, partBytes: 4_096 } });
  const projectId = await newProject(world, workspaceId);
  const common = { tenantId: workspaceId, projectId, from: DAY_1, spread: MICROS_PER_DAY };
  world.runs = makeRuns({ ...common, count: 160, seed, size: 300 });
  const job = await newExport(world, workspaceId, {
    bulk_export_destination_id: await newDestination(world, workspaceId),
    session_id: projectId,
    end_time: DAY_1 + MICROS_PER_DAY,
    compression: "none",
  });
  let wake: () => void = () => undefined;
  let sleeper: Promise<void> | undefined;
  let asleep = false;
  let woken = false;
  let fallAsleep: () => void = () => undefined;
  const sleeping = new Promise<void>((resolve) => (fallAsleep = resolve));
  world.deps.at = async (reached) => {
    if (!asleep && reached === point) {
      asleep = true;
      fallAsleep();
      await new Promise<void>((resolve) => (wake = resolve));
    } else if (asleep && !woken && reached === "after commit") {
      woken = true;
      wake();
      await sleeper;
    }
  };
  await world.settle({
    minutes: 20,
    handle: async (message) => {
      const working = advance(world.deps, message);
      if ("runId" in message) sleeper ??= working;
      await Promise.race([working, sleeping.then(() => (sleeper === working ? undefined : working))]);
    },
  });
  expect(woken).toBe(true);
  expect(await exportRow(world, job.id)).toMatchObject({ status: "COMPLETED" });
  const { rows, manifest, keys } = await readExport(world.s3, job.id);
  expect(rows).toEqual(listExpectedRows(world.runs));
  expect(manifest?.rows).toBe(world.runs.length);
  expect(manifest?.partitions.flatMap(({ files }) => files.map(({ key }) => key))).toEqual(keys);
  expect(world.s3.uploads.size).toBe(0);
}

/** Late runs and patches of an exported day, some of them in a shard that is new, exported with the schedule's next window. */
async function survivesLate({ seed, point, kills, faults, messages }: Fire): Promise<boolean> {
  const random = generator(seed);
  let left = 0;
  let die: () => void = () => undefined;
  const { workspaceId } = await newCaller();
  const world: World = newWorld({
    now: DAY_2 / 1000 + DUE_AFTER,
    limits: { sliceRows: 50, pageRows: 20, lease: 60_000, partBytes: 4_096 },
    fault: () => (left > 0 && faults.length > 0 && random() < 0.06 ? faults[0] : undefined),
    at: (reached) => {
      if (reached !== point || left <= 0 || (left < kills && random() < 0.4)) return Promise.resolve();
      left--;
      die();
      return new Promise(() => undefined);
    },
  });
  const session_id = await newProject(world, workspaceId);
  const common = { tenantId: workspaceId, projectId: session_id, from: DAY_1, spread: MICROS_PER_DAY, size: 300 };
  const first = makeRuns({ ...common, count: 80, seed });
  const late = makeRuns({ ...common, count: 120, seed: seed + 1 });
  const inNewShard = new Set(late.filter((_, i) => i % 2 === 0).map(({ id }) => id));
  world.pickShard = ({ id }) => (inNewShard.has(id) ? 1 : 0);
  const recordChanges = async (shard: number, changes: number) => {
    const place = { workspaceId, projectId: session_id, day: "2026-01-01", shard };
    await savePartition(world.deps.db, { ...place, rows: 1, bytes: 1, lastRunStartTime: 1, changes });
  };
  world.runs = first;
  for (const { id } of first) world.changed.set(id, 1);
  await recordChanges(0, 1);
  const schedule = await newExport(world, workspaceId, {
    bulk_export_destination_id: await newDestination(world, workspaceId),
    session_id,
    interval_hours: 24,
    compression: "none",
  });
  await sweep(world.deps);
  await world.settle({ minutes: 3 });

  const patched = first.filter((_, i) => i % 3 === 0).map((run) => ({ ...run, name: "patched" }));
  const byId = new Map([...first, ...late, ...patched].map((run) => [run.id, run]));
  world.runs = [...byId.values()].sort((a, b) => a.start_time - b.start_time || (a.id < b.id ? -1 : 1));
  for (const { id } of [...late, ...patched]) world.changed.set(id, 2);
  for (const shard of [0, 1]) await recordChanges(shard, 2);
  left = kills;
  world.clock.now = (DAY_2 + MICROS_PER_DAY) / 1000 + DUE_AFTER;
  await sweep(world.deps);
  await world.settle({
    minutes: 40,
    deliver: (wakes) => disturb(wakes, messages, random),
    handle: async (wake) => {
      const killed = new Promise<void>((resolve) => (die = resolve));
      await Promise.race([advance(world.deps, wake).then(() => world.deps.at("before ack")), killed]);
    },
  });
  const jobs = await world.deps.db
    .select()
    .from(bulkExports)
    .where(eq(bulkExports.sourceExportId, schedule.id))
    .orderBy(bulkExports.spawned)
    .all();
  expect(jobs.map(({ status, spawned }) => [spawned, status])).toEqual([
    [1, "COMPLETED"],
    [2, "COMPLETED"],
  ]);
  const [one, two] = await Promise.all(
    [1, 2].map((window) => readExport(world.s3, jobs.find(({ spawned }) => spawned === window)?.id ?? "")),
  );
  const changed = world.runs.filter(({ id }) => world.changed.get(id) === 2);
  const inOrder = [...changed].sort((a, b) => world.pickShard(a) - world.pickShard(b));
  expect(two?.rows).toEqual(listExpectedRows(inOrder));
  expect(two?.manifest?.late.flatMap(({ files }) => files.map(({ key }) => key)).sort()).toEqual(two?.keys);
  expect(two?.keys.every((key) => /\/late-2-(s01-)?\d{5}\.parquet$/.test(key))).toBe(true);
  const newest = new Map([...(one?.rows ?? []), ...(two?.rows ?? [])].map((row) => [row["id"], row]));
  const all = listExpectedRows(world.runs);
  expect(newest.size).toBe(all.length);
  expect(all.map((row) => newest.get(row["id"]))).toEqual(all);
  return true;
}

const COMBINATIONS = POINTS.flatMap((point) =>
  Object.entries(FAULTS).flatMap(([name, faults]) =>
    (["as sent", "doubled", "dropped", "shuffled"] as const).map((messages) => ({ point, name, faults, messages })),
  ),
);

beforeEach(forgetExports);

describe(`exactly once (SEED=${SEED})`, { timeout: 120_000 }, () => {
  it.for(pickCases(POINTS, 3))("when the process stops: %s", async (point) => {
    await expect(survives({ seed: SEED, point, kills: 3, faults: [], messages: "as sent" })).resolves.toBe(true);
  });

  it.for(pickCases(["claimed", "part uploaded", "before complete", "after complete", "before commit"] as const, 2))(
    "when an owner with an expired lease continues: %s",
    async (point) => {
      await expect(fences({ seed: SEED, point })).resolves.toBeUndefined();
    },
  );

  it.for(["doubled", "dropped", "shuffled"] as const)("when messages are %s", async (messages) => {
    await expect(survives({ seed: SEED, kills: 0, faults: [], messages })).resolves.toBe(true);
  });

  it.for(pickCases(Object.entries(FAULTS), 3))("when the store fails: %s", async ([, faults]) => {
    await expect(survives({ seed: SEED, kills: 0, faults, messages: "as sent" })).resolves.toBe(true);
  });

  it.for(pickCases(POINTS, 2))("of late runs and patches, when the process stops: %s", async (point) => {
    const fire = { kills: 3, faults: FAULTS.everything ?? [], messages: "doubled" as const };
    await expect(survivesLate({ seed: SEED, point, ...fire })).resolves.toBe(true);
  });

  it("when all of it happens", async () => {
    const fire = { point: "after complete" as const, kills: 2, faults: FAULTS.everything ?? [] };
    await expect(survives({ ...fire, seed: SEED, messages: "dropped" })).resolves.toBe(true);
  });

  it.for(SEEDS > 0 ? COMBINATIONS : [])(
    "every combination: $point, $name, $messages",
    { timeout: 600_000 },
    async ({ point, faults, messages }) => {
      for (let seed = SEED; seed < SEED + SEEDS; seed++) {
        await expect(survives({ seed, point, kills: 3, faults, messages }), `SEED=${seed}`).resolves.toBe(true);
        await expect(survivesLate({ seed, point, kills: 3, faults, messages }), `SEED=${seed}`).resolves.toBe(true);
      }
    },
  );
});

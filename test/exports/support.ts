/** An export engine in a controlled world: time, ids, messages, the source and the store are the test's own. */
import { zstdDecompressSync } from "node:zlib";
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { parquetReadObjects } from "hyparquet";
import { database } from "../../src/db/client.ts";
import { bulkExports } from "../../src/exports/table.ts";
import { projects } from "../../src/traces/projects/table.ts";
import { createExport } from "../../src/exports/create.ts";
import { DEFAULT_FIELDS } from "../../src/exports/parquet/columns.ts";
import { createExportDeps, type ExportDeps, type CrashPoint, type ExportMessage } from "../../src/exports/deps.ts";
import { sealCredentials, insertDestination } from "../../src/exports/destinations/store.ts";
import { openStore } from "../../src/exports/destinations/open.ts";
import { LIMITS } from "../../src/exports/limits.ts";
import type { CreateExportInput } from "../../src/exports/schema.ts";
import { sweep } from "../../src/exports/schedule.ts";
import { advance } from "../../src/exports/work.ts";
import { Slots } from "../../src/exports/slots.ts";
import type { PageRequest, RunPage, SinceWindow } from "../../src/traces/columns.ts";
import type { TracePartitionRpc } from "../../src/traces/rpc.ts";
import type { StoredTraceRun } from "../../src/traces/types.ts";
import { announcePartition } from "../../src/traces/projects/partitions.ts";
import { toDay } from "../../src/traces/time.ts";
import { FakeS3, type Fault } from "../support/fake-s3.ts";
import { columnValue, toPage } from "../support/pages.ts";

const SECRET = "the-secret-of-the-tests";

/** A workspace's project in D1. */
export async function newProject(world: World, workspaceId: string, referenceDatasetId: string | null = null) {
  const id = crypto.randomUUID();
  await world.deps.db.insert(projects).values({
    id,
    workspaceId,
    name: id,
    referenceDatasetId,
    traceTier: "longlived",
    startTime: world.clock.now,
  });
  for (let day = 0; day < 3; day++) await registerDay(world, workspaceId, id, DAY_1 + day * MICROS_PER_DAY);
  return id;
}

/** What a partition does before its first write. `start` in microseconds. */
export async function registerDay(world: World, workspaceId: string, projectId: string, start: number, shard = 0) {
  await announcePartition(world.deps.db, { workspaceId, projectId, day: toDay(start), shard });
}

/** A destination on the world's store. */
export async function newDestination(world: World, workspaceId: string): Promise<string> {
  const id = crypto.randomUUID();
  await insertDestination(world.deps.db, {
    id,
    workspaceId,
    type: "s3",
    displayName: "test",
    config: {
      bucket_name: "lake",
      prefix: "traces",
      region: null,
      endpoint_url: "https://s3.example.com",
      include_bucket_in_prefix: true,
      config_kwargs_s3: null,
      s3_additional_kwargs: null,
    },
    credentials: await sealCredentials(env, { id, workspaceId }, { access_key_id: "AKID", secret_access_key: SECRET }),
    credentialsKeys: ["access_key_id", "secret_access_key"],
    createdAt: world.clock.now,
    updatedAt: world.clock.now,
  });
  return id;
}

/** An export of three days from 2026-01-01 on, unless `input` says otherwise. */
export async function newExport(
  world: World,
  workspaceId: string,
  input: Partial<CreateExportInput> & Pick<CreateExportInput, "bulk_export_destination_id">,
) {
  return createExport(world.deps, workspaceId, {
    all_experiments: input.session_id === undefined,
    start_time: DAY_1,
    end_time: input.interval_hours === undefined ? DAY_1 + 3 * MICROS_PER_DAY : undefined,
    format: "Parquet",
    format_version: "v2_beta",
    compression: "snappy",
    ...input,
  });
}

/** 2026-01-01T00:00:00Z in microseconds, and the length of a day. */
export const DAY_1 = Date.parse("2026-01-01T00:00:00Z") * 1000;
export const MICROS_PER_DAY = 86_400_000_000;

export async function exportRow(world: World, id: string) {
  const row = await world.deps.db.select().from(bulkExports).where(eq(bulkExports.id, id)).get();
  if (!row) throw new Error(`no export ${id}`);
  return row;
}

interface ExportedWindow {
  session_id: string;
  day: string;
  rows: number;
  files: { key: string; rows: number; bytes: number; sha256: string }[];
}

interface Manifest {
  rows: number;
  partitions: ExportedWindow[];
  late: ExportedWindow[];
  deleted: { session_id: string; trace_id: string; deleted_at: string }[];
}

/** What a reader of the bucket finds: the manifest, and the rows of every Parquet file below the export's folder. */
export async function readExport(s3: FakeS3, exportId: string) {
  const root = `traces/export_id=${exportId}/`;
  const manifest = JSON.parse(s3.text(`${root}_manifest.json`) ?? "null") as Manifest | null;
  const rows: Record<string, unknown>[] = [];
  const keys = [...s3.objects.keys()].filter((key) => key.startsWith(root) && key.endsWith(".parquet")).sort();
  for (const key of keys) {
    const file = (s3.objects.get(key) as Uint8Array<ArrayBuffer>).slice().buffer;
    const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };
    rows.push(
      ...(await parquetReadObjects({
        file,
        parsers,
        compressors: { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) },
      })),
    );
  }
  return { manifest, rows, keys };
}

/** The rows that a file of these runs must hold. */
export function listExpectedRows(runs: StoredTraceRun[]): Record<string, unknown>[] {
  return runs.map((run) => Object.fromEntries(DEFAULT_FIELDS.map((field) => [field, columnValue(run, field)])));
}

/** A partition over runs in memory, in the order and within the bounds that the real one keeps. */
class MemoryPartition implements Pick<TracePartitionRpc, "readPage"> {
  constructor(
    private readonly runs: StoredTraceRun[],
    /** The number of each run's last change, and of the partition's. */
    private readonly findChange: (run: StoredTraceRun) => number,
    private readonly changes: number,
  ) {}

  async readPage({ after, since, startTime, endTime, limit, maxBytes }: PageRequest): Promise<RunPage> {
    const rest = this.runs.filter(
      (run) =>
        (!since || since.some((one) => isChanged(run, this.findChange(run), one))) &&
        run.start_time >= startTime &&
        run.start_time < endTime &&
        (!after || run.start_time > after.start_time || (run.start_time === after.start_time && run.id > after.id)),
    );
    let bytes = 0;
    let size = 0;
    while (size < rest.length && size < limit && bytes < maxBytes) bytes += rest[size++]?.inputs?.length ?? 0;
    return { ...toPage(rest.slice(0, size)), done: size === rest.length, changes: this.changes };
  }
}

function isChanged({ start_time }: StoredTraceRun, by: number, { startTime, endTime, change }: SinceWindow): boolean {
  return start_time >= startTime && start_time < endTime && by > change;
}

export interface World {
  deps: ExportDeps;
  s3: FakeS3;
  /** Messages that have been sent and not taken; `due` in milliseconds. */
  queue: { wake: ExportMessage; due: number }[];
  runs: StoredTraceRun[];
  pickShard: (run: StoredTraceRun) => number;
  /** The numbers of changes, by run. */
  changed: Map<string, number>;
  clock: { now: number };
  /** Lets minutes pass: messages are handled when due, and the sweep runs, until nothing is left to do. */
  settle(options?: SettleOptions): Promise<void>;
}

export interface SettleOptions {
  minutes?: number;
  /** How a batch of due messages reaches the consumer: dropped, doubled, in another order. */
  deliver?: (wakes: ExportMessage[]) => ExportMessage[];
  handle?: (wake: ExportMessage) => Promise<void>;
}

export interface WorldOptions {
  now?: number;
  runs?: StoredTraceRun[];
  fault?: (request: Request) => Fault | undefined;
  at?: (point: CrashPoint) => Promise<void>;
  limits?: Partial<typeof LIMITS>;
}

/** Deletes the exports of earlier tests. A sweep serves all workspaces, so it would continue them, too. */
export async function forgetExports(): Promise<void> {
  await env.DB.batch(["export_runs", "bulk_exports"].map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
}

export function newWorld(options: WorldOptions = {}): World {
  const { now = Date.parse("2026-03-01T00:00:00Z"), runs = [], fault, at, limits } = options;
  const s3 = new FakeS3(fault);
  const clock = { now };
  const queue: World["queue"] = [];
  const real = createExportDeps(env);
  const deps: ExportDeps = {
    ...real,
    db: database(env.DB),
    limits: { ...LIMITS, ...limits },
    slots: new Slots(LIMITS.runsPerIsolate),
    now: () => clock.now,
    partition: (workspaceId, { projectId, day, shard }) =>
      new MemoryPartition(
        world.runs.filter(
          (run) =>
            run.tenant_id === workspaceId &&
            run.session_id === projectId &&
            toDay(run.start_time) === day &&
            world.pickShard(run) === shard,
        ),
        (run) => world.changed.get(run.id) ?? 0,
        Math.max(0, ...world.changed.values()),
      ) as unknown as TracePartitionRpc,
    resolve: async ({ payloads }, field) => payloads[field],
    open: (destination) =>
      openStore(destination, {
        bucket: env.EXPORTS_BUCKET,
        allowPrivateEndpoints: true,
        fetch: s3.fetch,
        now: () => clock.now,
        sleep: async () => undefined,
      }),
    send: async (wake, delaySeconds = 0) => {
      queue.push({ wake, due: clock.now + delaySeconds * 1000 });
    },
    at: at ?? (async () => undefined),
    pause: async () => undefined,
  };
  const world: World = {
    deps,
    s3,
    queue,
    runs,
    pickShard: () => 0,
    changed: new Map(),
    clock,
    async settle(options: SettleOptions = {}) {
      const {
        minutes = 30,
        deliver = (wakes: ExportMessage[]) => wakes,
        handle: work = (wake: ExportMessage) => advance(deps, wake),
      } = options;
      for (let tick = 0; tick < minutes * 2; tick++) {
        for (let round = 0; round < 1000; round++) {
          const due = queue.filter((message) => message.due <= clock.now);
          if (due.length === 0) break;
          for (const message of due) queue.splice(queue.indexOf(message), 1);
          for (const wake of deliver(due.map((message) => message.wake))) await work(wake);
        }
        clock.now += 30_000;
        if (tick % 2 === 1) await sweep(deps);
      }
    },
  };
  return world;
}

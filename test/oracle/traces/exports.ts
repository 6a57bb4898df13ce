/** The step that exports: what a reader of the bucket finds must be the runs of the model, row by row. */
import { env } from "cloudflare:workers";
import { createExportDeps } from "../../../src/exports/deps.ts";
import { sweep } from "../../../src/exports/schedule.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import { newDestination, newExport, newWorld, readExport, type World as ExportWorld } from "../../exports/support.ts";
import { failOnce, holdOnce } from "./effects.ts";
import type { Row } from "./exported-row.ts";
import { mustEnd, sameIds, sameRows } from "./exported.ts";
import { toText } from "./json.ts";
import { DAY, toIso } from "./programs.ts";
import type { Run, Write } from "./run.ts";
import type { World } from "./world.ts";

const MILLIS = 1_000;
const DAY_MS = DAY / MILLIS;

/** The export engine on the real partitions, with a store in memory and a clock of its own. */
export function engineAt(now: number, limits = {}): ExportWorld {
  const engine = newWorld({ now, limits });
  engine.deps.partition = (workspaceId, place) => tracePartition(env, workspaceId, place);
  engine.deps.resolve = createExportDeps(env).resolve;
  return engine;
}

/** Midnights around the runs, microseconds. */
export function findWindow(runs: readonly Run[]): { start: number; end: number } {
  const [newest, oldest] = [runs[0]?.start ?? 0, runs.at(-1)?.start ?? 0];
  return { start: Math.floor(oldest / DAY) * DAY, end: Math.floor(newest / DAY) * DAY + DAY };
}

export async function exportRuns(world: World): Promise<void> {
  const { export: kind } = world.given;
  if (kind === "none") return;
  if (kind === "schedule") return exportBySchedule(world);
  if (kind === "cancelled") return cancelWhilePlanned(world);
  return exportWindow(world);
}

async function exportWindow(world: World): Promise<void> {
  const { given, project, weir } = world;
  const { start, end } = findWindow(project.runs);
  const some = Math.ceil(project.runs.length / 3);
  const small = given.export === "moved" ? { pageRows: some, sliceRows: some } : {};
  const engine = engineAt(Math.max(Date.now(), end / MILLIS) + DAY_MS, small);
  const job = await newExport(engine, weir.caller.workspaceId, {
    bulk_export_destination_id: await newDestination(engine, weir.caller.workspaceId),
    session_id: weir.id(project.name),
    start_time: start,
    end_time: end,
    compression: "none",
  });
  let stop = () => {};
  if (given.export === "resealed") {
    const { ENCRYPTION_KEY } = engine.deps.keys;
    engine.deps.keys = {
      DB: env.DB,
      ENCRYPTION_KEY: btoa("another key of thirty-two bytes."),
      ENCRYPTION_KEYS_OLD: ENCRYPTION_KEY ?? "",
    };
    ({ stop } = failOnce(({ name }) => name === "d1 update export_destinations"));
  }
  if (given.export === "moved") moveDuring(engine, world);
  await engine.settle({ minutes: 5 }).finally(stop);
  await mustEnd(world, job.id, "COMPLETED");
  const { rows } = await readExport(engine.s3, job.id);
  if (given.export === "moved") return sameIds(rows, project.runs);
  sameRows(rows, world, project.runs);
}

/** After the first file, the first run moves behind all others of its day. */
function moveDuring(engine: ExportWorld, world: World): void {
  engine.deps.at = async (point) => {
    if (point !== "after commit") return;
    engine.deps.at = async () => undefined;
    const first = world.project.runs.at(-1);
    if (!first) return;
    const later = Math.floor(first.start / DAY) * DAY + DAY - 10;
    const fields = {
      id: toText(first.id),
      trace_id: toText(first.traceId),
      dotted_order: toText(first.dotted),
      session_name: toText(world.project.name),
      start_time: toText(toIso(later)),
    };
    await world.send([{ kind: "patch", id: first.id, fields }], "batch");
  };
}

/** Windows of a day: what came in time, what came late, and what came late into a project that did not exist. */
async function exportBySchedule(world: World): Promise<void> {
  const { weir, project, other, programs } = world;
  const { start, end } = findWindow(project.runs);
  const engine = engineAt(start / MILLIS);
  const job = await newExport(engine, weir.caller.workspaceId, {
    bulk_export_destination_id: await newDestination(engine, weir.caller.workspaceId),
    all_experiments: true,
    start_time: start,
    interval_hours: 24,
    compression: "none",
  });
  const others = new Set(other.shared);
  const days = (end - start) / DAY;
  const found: Row[] = [];
  for (let k = 1; k <= days; k += 1) found.push(...(await tick(engine, job.id, start, k)));
  sameRows(
    found.filter((row) => row.name !== "of the other project" || !others.has(String(row.id))),
    world,
    project.runs,
  );
  const late = programs.run();
  await world.send(late.writes, "batch");
  const young = await weir.makeProject("young", { reference_dataset_id: crypto.randomUUID() });
  const ofYoung = programs.run();
  const rename = ({ kind, id, fields }: Write): Write => ({ kind, id, fields: { ...fields, session_name: '"young"' } });
  await weir.send(ofYoung.writes.map(rename), "batch", world.random);
  await weir.alarms(project.name);
  await weir.alarms("young");
  const next = await tick(engine, job.id, start, days + 1);
  const wanted = [
    { id: late.id, session_id: weir.id(project.name) },
    { id: ofYoung.id, session_id: young },
  ];
  for (const one of wanted)
    if (next.filter(({ id, session_id }) => id === one.id && session_id === one.session_id).length !== 1)
      throw new Error(
        `a late run of ${one.session_id === young ? "a younger project" : "the project"} is not exported once`,
      );
}

/** What a reader finds of the schedule's window k. */
async function tick(engine: ExportWorld, scheduleId: string, start: number, k: number): Promise<Row[]> {
  engine.clock.now = (start + k * DAY) / MILLIS + 11 * 60_000;
  await sweep(engine.deps);
  const spawned = await env.DB.prepare("SELECT id FROM bulk_exports WHERE source_export_id = ? AND spawned = ?")
    .bind(scheduleId, k)
    .first<{ id: string }>();
  if (!spawned) throw new Error(`window ${k} is not spawned`);
  await engine.settle({ minutes: 2 });
  return (await readExport(engine.s3, spawned.id)).rows;
}

async function cancelWhilePlanned(world: World): Promise<void> {
  const { project, weir } = world;
  const { start, end } = findWindow(project.runs);
  const engine = engineAt(end / MILLIS + DAY_MS);
  const job = await newExport(engine, weir.caller.workspaceId, {
    bulk_export_destination_id: await newDestination(engine, weir.caller.workspaceId),
    session_id: weir.id(project.name),
    start_time: start,
    end_time: end,
  });
  const hold = holdOnce(
    ({ name, text }) => name === "d1 insert export_runs" && text.includes(job.id),
    () => world.expectStatus(200, `/api/v1/bulk-exports/${job.id}`, { method: "PATCH", body: { status: "CANCELLED" } }),
  );
  await engine.settle({ minutes: 5 }).finally(hold.stop);
  if (!hold.isDone()) throw new Error("the export is not planned");
  await mustEnd(world, job.id, "CANCELLED");
}

/** The steps by which runs, feedback and links come. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { database } from "../../../src/db/client.ts";
import { extendTraces } from "../../../src/traces/projects/retention.ts";
import { locateRuns } from "../../../src/traces/locate.ts";
import { toDay } from "./days.ts";
import { objectText } from "./json.ts";
import { DAY, toIso } from "./programs.ts";
import { type Write, toMicros } from "./run.ts";
import type { World } from "./world.ts";

/** More than one block of 512 runs. */
const SEALED = 530;
/** More runs of one day than a statistic takes durations of, and a few slow ones: of all runs, fewer than one in a hundred. */
const UNEVEN = 2_600;
const SLOW = 24;
/** More days than a page of partitions. */
const MANY_DAYS = 130;

export async function makeProjects({ weir, project, other, given }: World): Promise<void> {
  const experiment: Record<string, string> =
    given.export === "schedule" ? { reference_dataset_id: crypto.randomUUID() } : {};
  await weir.makeProject(project.name, experiment);
  await weir.makeProject(other.name, experiment);
}

/** What the day holds before the runs under test arrive. */
export async function fill(world: World): Promise<void> {
  const { given, programs, weir, project } = world;
  const { day } = programs;
  if (given.volume === "sealed" || given.volume === "reopened") {
    await world.send(programs.fillers(SEALED), "batch");
    await weir.alarms(project.name);
    const [first] = project.runs.toReversed();
    if (given.volume === "reopened" && first) await patchFiller(world, first.id);
  }
  if (given.volume === "uneven")
    await world.send([...programs.fillers(UNEVEN, day - DAY), ...programs.fillers(SLOW, day, 100)], "batch");
  if (given.volume === "many days") {
    const writes = Array.from({ length: MANY_DAYS }, (_, n) => programs.fillers(1, day - (n + 1) * DAY));
    await world.send(writes.flat(), "batch");
  }
  if (given.shards === "grown") await grow(world);
}

async function patchFiller(world: World, id: string): Promise<void> {
  const run = world.project.runs.find((one) => one.id === id);
  if (!run) return;
  const fields = {
    id: JSON.stringify(id),
    trace_id: JSON.stringify(id),
    dotted_order: JSON.stringify(run.dotted),
    session_name: JSON.stringify(world.project.name),
    error: '"Error: late"',
  };
  await world.send([{ kind: "patch", id, fields }], "batch");
}

/** The first shard of the day is full from now on: the next trace makes the day grow. */
async function grow(world: World): Promise<void> {
  const { weir, project, programs } = world;
  const filler = () => programs.fillers(1);
  await world.send(filler(), "batch");
  const object = weir.object(project.name, { day: toDay(programs.day), shard: 0 });
  await runInDurableObject(object, (partition) => {
    const own = partition as unknown as { env: Env };
    own.env = { ...own.env, TRACE_SHARD_BYTES: "1" };
  });
  await world.send(filler(), "batch");
}

/** The runs under test, with feedback before or after them. */
export async function arrive(world: World): Promise<void> {
  const { given, programs } = world;
  world.writes = programs.traces();
  const posts = world.writes.filter(({ kind }) => kind === "post");
  const isChild = ({ fields }: Write) => "parent_run_id" in fields;
  const children = posts.filter(isChild);
  const some = given.feedback === "before child" ? children.slice(0, 2) : posts.slice(0, 3);
  const giveAll = async () => {
    for (const { id, fields } of some) await world.give(id, JSON.parse(fields.start_time ?? "") as string);
  };
  if (given.feedback.startsWith("before")) await giveAll();
  await world.send(world.writes);
  if (given.feedback === "after") await giveAll();
}

/** A share of the first trace; `same id`: of a trace with that id in the other project. */
export async function share(world: World): Promise<void> {
  const { given, weir, project, other } = world;
  const trace = project.runs.findLast(({ isRoot, runType }) => isRoot && runType !== "tool")?.traceId;
  if (trace === undefined || given.share === "none") return;
  if (given.share === "own") return link(world, project, trace);
  const root = world.writes.filter(({ id }) => id === trace);
  const start = toMicros(JSON.parse(root[0]?.fields.start_time ?? "") as string) + DAY;
  const fields = {
    id: JSON.stringify(trace),
    trace_id: JSON.stringify(trace),
    session_name: JSON.stringify(other.name),
    start_time: JSON.stringify(toIso(start)),
    end_time: JSON.stringify(toIso(start)),
    name: '"of the other project"',
    run_type: '"chain"',
  };
  await weir.call("/api/v1/runs", { body: objectText(fields) });
  return link(world, other, trace);
}

async function link({ weir, links }: World, project: World["project"], trace: string): Promise<void> {
  const { share_token } = (await weir.call(`/runs/${trace}/share`, {
    method: "PUT",
    body: { session_id: weir.id(project.name) },
  })) as { share_token: string };
  project.shared.add(trace);
  links.push({ project, trace, token: share_token });
}

/** Keeps the trace of the oldest root, as a rule does that matches a run of it. */
export async function keepTrace({ given, weir, project, session }: World): Promise<void> {
  if (given.kept === "none") return;
  const own = project.runs.filter(({ runType }) => runType !== "tool");
  const trace = own.findLast(({ isRoot }) => isRoot)?.traceId;
  const run = own.find(({ traceId, isRoot }) => traceId === trace && isRoot === (given.kept === "root"));
  if (!run) return;
  const { workspaceId } = weir.caller;
  const place = (await locateRuns(env, database(env.DB), workspaceId, [run.id])).get(run.id);
  const { traceId: trace_id, start: start_time, dotted: dotted_order } = run;
  const matched = { session_id: session, trace_id, start_time, dotted_order, shard: place?.shard ?? 0 };
  await extendTraces(env, workspaceId, [matched]);
  const root = own.find(({ id }) => id === run.traceId);
  project.kept.set(run.traceId, new Set([run.day, root?.day ?? run.day]));
}

/** What is changed of the project while it has runs. */
export async function changeProject(world: World): Promise<void> {
  const { given, project, session } = world;
  if (given.project === "tier") {
    project.tier = "shortlived";
    await world.expectStatus(200, `/sessions/${session}`, { method: "PATCH", body: { trace_tier: "shortlived" } });
  }
  if (given.project === "held") {
    project.isHeld = true;
    await world.expectStatus(200, `/sessions/${session}`, { method: "PATCH", body: { legal_hold: true } });
  }
}

/** The steps by which runs leave: what is deleted, what goes wrong during it, and what arrives then. */
import { runInDurableObject } from "cloudflare:test";
import { findLeftovers } from "../../support/erased.ts";
import { objectText } from "./json.ts";
import { toIso } from "./programs.ts";
import type { Run, Write } from "./run.ts";
import { arriveDuring, deleteDespite } from "./trouble.ts";
import type { World } from "./world.ts";

/** The runs under test of a project, without fillers. */
const listUnderTest = ({ project }: World) => project.runs.filter(({ runType }) => runType !== "tool");

/** What leaves, and its request. */
export interface Doomed {
  runs: readonly Run[];
  /** The status of the answer. */
  ask: () => Promise<number>;
  /** What the model does. False when the deletion is refused. */
  apply: () => boolean;
}

export function findDoomed(world: World): Doomed {
  const { given, weir, project, session } = world;
  const [trace = ""] = listUnderTest(world)
    .flatMap(({ traceId, isRoot }) => (isRoot ? [traceId] : []))
    .slice(-1);
  switch (given.removal) {
    case "trace":
      return {
        runs: project.runs.filter(({ traceId }) => traceId === trace),
        ask: () => weir.status(`/api/v2/traces/${trace}?project_id=${session}`, { method: "DELETE" }),
        apply: () => project.deleteTraces([trace]),
      };
    case "thread": {
      const traces = new Set(project.runs.filter(({ threadId }) => threadId === "thread-0").map((run) => run.traceId));
      return {
        runs: project.runs.filter(({ traceId }) => traces.has(traceId)),
        ask: () => weir.status("/runs/delete", { body: { session_id: session, thread_ids: ["thread-0"] } }),
        apply: () => project.deleteThread("thread-0"),
      };
    }
    case "project":
      return {
        runs: project.runs,
        ask: () => weir.status(`/sessions/${session}`, { method: "DELETE" }),
        apply: () => project.delete(),
      };
    case "expiry":
    case "none": {
      const days = new Set(project.runs.map(({ day }) => day));
      return {
        runs: project.runs,
        ask: () => expire(world),
        apply: () => {
          for (const day of days) project.expire(day);
          return true;
        },
      };
    }
  }
}

const DAY_MS = 86_400_000;

/** Makes every day of the project older than its retention, and younger than that of kept traces, and runs the alarms. */
async function expire({ weir, project, session }: World): Promise<number> {
  await weir.call(`/sessions/${session}`, { method: "PATCH", body: { retention_days: 1 } });
  for (const place of await weir.places(project.name))
    await runInDurableObject(weir.object(project.name, place), (_, { storage }) =>
      storage.sql.exec("UPDATE meta SET value = ? WHERE name = 'written'", String(Date.now() - 30 * DAY_MS)),
    );
  // A restart ends the alarm's call, and the platform runs the alarm again.
  return weir.alarms(project.name).then(
    () => 200,
    () => 500,
  );
}

/** Deletes, with what goes wrong during it. Gives what was deleted. */
export async function remove(world: World): Promise<Doomed | undefined> {
  const { given, project } = world;
  if (given.removal === "none") return undefined;
  const doomed = findDoomed(world);
  if (given.afterwards === "during") await arriveDuring(world, doomed);
  else if (given.trouble === "none" || project.isHeld) {
    const wanted = doomed.apply();
    const status = await doomed.ask();
    if (status !== (wanted ? 200 : 409)) throw new Error(`the deletion: ${status}, must be ${wanted ? 200 : 409}`);
    if (!wanted) return undefined;
  } else await deleteDespite(world, doomed);
  if (project.isHeld) return undefined;
  await checkErased(world, doomed);
  return doomed;
}

/** Nothing names what was deleted. */
export async function checkErased(world: World, { runs }: Doomed): Promise<void> {
  const { weir, project, session, links, given } = world;
  const days = new Set(runs.map(({ day }) => day));
  const shards = given.shards === "grown" ? [0, 1] : [0];
  const objects = [...days].flatMap((day) => shards.map((shard) => weir.object(project.name, { day, shard })));
  for (const object of objects)
    await runInDurableObject(object, async (partition, { storage }) => {
      const tables = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'doomed'").toArray();
      if (tables.length > 0) storage.sql.exec("UPDATE doomed SET due = 0");
      await (partition as { alarm(): Promise<void> }).alarm();
    });
  const elsewhere = new Set(links.flatMap((link) => (link.project === project ? [] : [link.trace])));
  const kept = new Set(project.runs.map(({ id }) => id));
  const ids = runs.map(({ id }) => id).filter((id) => !elsewhere.has(id) && !kept.has(id));
  const left = await findLeftovers(given.removal === "project" ? [session, ...ids.slice(0, 50)] : ids.slice(0, 50), {
    objects: objects.slice(0, 4),
    prefixes: [`traces/${weir.caller.workspaceId}/${session}/`],
  });
  if (left.length > 0) world.differences.push(`after the deletion ${left.slice(0, 5).join("; ")}`);
}

/** What arrives when the rest is done: of a deleted trace, if there is one. */
export async function arriveAfterwards(world: World, doomed: Doomed | undefined): Promise<void> {
  const { given, project } = world;
  const target = (doomed?.runs ?? project.runs).filter(({ runType }) => runType !== "tool");
  const root = target.find(({ isRoot }) => isRoot);
  if (!root) return;
  const patch: Write = {
    kind: "patch",
    id: root.id,
    fields: {
      id: JSON.stringify(root.id),
      trace_id: JSON.stringify(root.traceId),
      dotted_order: JSON.stringify(root.dotted),
      session_name: JSON.stringify(project.name),
      start_time: JSON.stringify(toIso(root.start)),
      outputs: objectText({ late: "true" }),
    },
  };
  if (given.afterwards === "feedback") await world.give(root.id, toIso(root.start));
  if (given.afterwards === "nothing" || given.afterwards === "feedback" || given.afterwards === "during") return;
  const writes = given.afterwards === "patch" ? [patch] : world.programs.run({ above: root.dotted }).writes;
  if (!project.isDeleted) return world.send(writes, "batch");
  // It is late: without its root's post nothing of a trace begins again.
  await world.weir.send(writes, "batch", world.random);
}

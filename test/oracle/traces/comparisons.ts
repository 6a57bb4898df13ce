/** The steps that compare: a sample of conditions for the runs of a case, and every other view. */
import { inParallel } from "../../../src/lib/parallel.ts";
import { SOAK } from "../../support/thorough.ts";
import {
  and,
  type Condition,
  entryIs,
  eq,
  exists,
  feedbackIs,
  hasMetadata,
  hasTag,
  isIn,
  isRoot,
  latency,
  like,
  metadataIs,
  not,
  or,
  search,
  starts,
} from "./filters.ts";
import { isObject, showValue, type Value } from "./json.ts";
import { toIso } from "./programs.ts";
import type { Run } from "./run.ts";
import { Sights } from "./sights.ts";
import { Sums } from "./sums.ts";
import { SELECTED } from "./values.ts";
import type { World } from "./world.ts";

/** Conditions of a case: a query each. */
const SAMPLE = SOAK ? 14 : 6;
/** Of a case with many days, each of which a query asks. */
const FEW = 2;
const AT_ONCE = 6;
/** A longer needle can reach past the preview that a filter searches. */
const NEEDLE = 40;
/** More than the characters that are kept of a value; a filter has 20,000. */
const KEPT = 1_000;

/** What a client may ask about a run's own values. */
function listConditions(run: Run): Condition[] {
  const [key, value] = Object.entries(run.metadata)[0] ?? ["none", null];
  const inputs = isObject(run.inputs) ? (run.inputs.v ?? null) : null;
  const scalar = typeof inputs !== "object" || inputs === null;
  const scalarText = showValue(inputs).slice(0, KEPT);
  const needle = Array.from(showValue(inputs)).slice(0, NEEDLE).join("");
  const isShort = showValue(value).length < KEPT;
  return [
    metadataIs(key, value),
    exists(key),
    ...(isShort ? [hasMetadata(key, value)] : []),
    ...(scalar ? [entryIs("input", "v", scalarText), entryIs("output", "v", scalarText)] : []),
    ...listPaths(inputs).map(([path, text]) => entryIs("input", path, text)),
    ...(typeof inputs === "string" && needle !== "" ? [search(needle), search(needle.toUpperCase())] : []),
    eq("name", run.name),
    ...(run.name.length < NEEDLE ? [like("name", run.name), not(like("name", run.name.slice(1)))] : []),
    ...run.tags.map(hasTag),
    ...(run.error === null ? [] : [eq("error", run.error), search(run.error.slice(0, NEEDLE))]),
    isIn("id", [run.id]),
    and(eq("trace_id", run.traceId), not(isRoot)),
    starts("gte", toIso(run.start), run.start),
    or(starts("lt", toIso(run.start), run.start), eq("name", run.name)),
  ];
}

/** Scalars one and two levels below a value. */
const listPaths = (value: Value): [string, string][] =>
  isObject(value)
    ? Object.entries(value).flatMap(([key, item]): [string, string][] =>
        typeof item !== "object" || item === null ? [[`v.${key}`, showValue(item)]] : [],
      )
    : [];

const GENERAL: readonly Condition[] = [
  isRoot,
  latency("gt", 1.5),
  not(latency("lte", 1.5)),
  eq("status", "error"),
  eq("error", null),
  eq("thread_id", "thread-1"),
  eq("run_type", "llm"),
  and(isRoot, eq("status", "success")),
  or(eq("status", "pending"), latency("gte", 4)),
  feedbackIs("stars", "gte", 0),
  hasTag("filler"),
  eq("trace_tier", "shortlived"),
];

/** Everything, once. */
export async function compareAll(world: World): Promise<void> {
  const { project, random } = world;
  const sights = new Sights(world.weir, project);
  await world.note(() => sights.runs());
  const runs = project.runs.filter(({ runType }) => runType !== "tool");
  const all = [...runs.flatMap(listConditions), ...GENERAL];
  const some = Array.from(
    { length: world.given.volume === "many days" ? FEW : SAMPLE },
    () => all[random.between(0, all.length)] as Condition,
  );
  const kinds = ["filter", "filter", "filter", "trace_filter", "tree_filter"] as const;
  await inParallel([...some.entries()], AT_ONCE, ([n, condition]) =>
    world.note(() => sights.filter(condition, kinds[n % kinds.length])),
  );
  for (const kind of ["filter", "tree_filter"] as const)
    await world.note(() => new Sums(world.weir, project).stats(GENERAL[random.between(0, GENERAL.length)], kind));
  const [first] = runs;
  if (first) {
    await world.note(() => sights.one(runs[random.between(0, runs.length)] ?? first));
    await world.note(() => sights.trace(first.traceId));
    await world.note(() => sights.trace((runs.at(-1) ?? first).traceId));
  }
  await world.note(() => sights.selected(SELECTED[random.between(0, SELECTED.length)] ?? []));
  await compareOverMidnight(world, sights);
  await compareFigures(world);
}

/** Filters on a whole trace that has runs on two days: a run of each day selects all of it. */
async function compareOverMidnight(world: World, sights: Sights): Promise<void> {
  const { weir, project } = world;
  const root = project.runs.find((run) => run.isRoot && project.listTree(run).some(({ day }) => day !== run.day));
  const other = root && project.listTree(root).find(({ day }) => day !== root.day);
  if (!root || !other) return;
  await world.note(() => sights.filter(eq("id", root.id), "trace_filter"));
  for (const { id } of [root, other]) {
    await world.note(() => sights.filter(eq("id", id), "tree_filter"));
    await world.note(() => new Sums(weir, project).stats(eq("id", id), "tree_filter"));
  }
}

/** What sums everything up. */
export async function compareFigures(world: World): Promise<void> {
  const { project, random, given } = world;
  const sums = new Sums(world.weir, project);
  await world.note(() => sums.stats());
  // A window has at most two years of days.
  if (given.times !== "behind" || project.runs.every(({ day }) => day.startsWith("1971")))
    await world.note(() =>
      sums.series((["name", "status", "run_type", "tag"] as const)[random.between(0, 4)] ?? "name"),
    );
  await world.note(() => sums.threads());
  await world.note(() => sums.feedback());
}

/** What a change of the project and a share leave. */
export async function compareChanged(world: World): Promise<void> {
  const { given, weir, project } = world;
  if (given.project !== "plain") await world.note(() => new Sights(weir, project).runs());
  await compareLinks(world);
}

/** What is left at the end. */
export async function compareRest(world: World): Promise<void> {
  const { given } = world;
  // Nothing has changed since the comparison of what arrived.
  if (given.removal === "none" && given.afterwards === "nothing") return compareLinks(world);
  await compareLeft(world);
}

/** What is there. */
export async function compareLeft(world: World): Promise<void> {
  const { weir, project, session } = world;
  if (project.isDeleted) {
    await world.expectStatus(404, `/sessions/${session}`);
    const found = await new Sights(weir, project).query({ select: ["id"] });
    if (found.length > 0) world.differences.push(`${found.length} runs of a deleted project are found`);
  } else {
    await world.note(() => new Sights(weir, project).runs());
    await compareFigures(world);
  }
  await compareLinks(world);
}

async function compareLinks(world: World): Promise<void> {
  const { other, links } = world;
  for (const { project: own, trace, token } of links) {
    const isThere = own.shared.has(trace) && (own === other || own.runs.some(({ id }) => id === trace));
    await world.note(() => world.expectStatus(isThere ? 200 : 404, `/public/${token}/run`));
  }
}

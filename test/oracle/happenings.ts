/** What happens in a case besides runs and stops. Each does it to the product and to the model. */

import type { Case } from "./dimensions.ts";
import { checkEffects, checkExecutions, checkReaders, checkSearch, checkStorage } from "./checks.ts";
import { checkLaws } from "./laws.ts";
import type { Ttl } from "./model.ts";
import { deleteRun } from "./others.ts";

import { Weir } from "./weir.ts";
import { Mismatch, type World } from "./world.ts";

const MINUTE = 60_000;
const TTL_MS = 30 * MINUTE;
/** A thread is compacted ten minutes after its last run. */
const COMPACTED_AFTER = 11 * MINUTE;

export async function create(world: World): Promise<void> {
  const { lifecycle } = world.given;
  const ttl: Ttl | undefined =
    lifecycle === "ttl delete"
      ? { strategy: "delete", ms: TTL_MS }
      : lifecycle === "ttl keep_latest"
        ? { strategy: "keep_latest", ms: TTL_MS }
        : undefined;
  await world.weir.create(ttl);
  world.model.create(ttl);
}

export async function redeploy(world: World, how: "renamed" | "retried"): Promise<void> {
  if (how === "retried") return world.weir.deploy("works", { flaky: true });
  world.weir.deploy("works", { last: "end" });
  for (const model of [world.model, ...world.left.map((one) => one.model)]) model.last = "end";
}

/** The graph cannot be made: runs fail or are refused, and what waits still waits. */
export async function breakGraph(world: World, how: "throws" | "removed"): Promise<void> {
  const { model, weir } = world;
  const { asks } = model;
  const answers = Object.fromEntries(asks.map((question) => [question, "lost"]));
  weir.deploy(how);
  model.graph = how;
  await world.start({ name: "f", ...(asks.length > 0 ? { answers } : { turn: "f" }) });
  if (model.run("f")) await world.finish("f");
}

export async function mendGraph(world: World): Promise<void> {
  world.weir.deploy("works");
  world.model.graph = "works";
}

/** The thread of a stateless run takes nothing once its run has ended. */
export async function expectRefusals(world: World): Promise<void> {
  const { weir } = world;
  const tries: [string, string, unknown, string?][] = [
    ["another run", "/runs", { assistant_id: weir.graphId, input: { messages: [] }, if_not_exists: "create" }],
    ["a state update", "/state", { values: { log: ["update"] }, as_node: "close" }],
    ["a copy", "/copy", {}],
    ["a change", "", { metadata: { changed: true } }, "PATCH"],
  ];
  for (const [what, path, body, method = "POST"] of tries) {
    const { status } = await weir.call(weir.path + path, { method, body });
    if (status !== 404 && status !== 409) throw new Mismatch(`${what} on a stateless run's thread answers ${status}`);
  }
}

/** What the case's `lifecycle` says. */
export async function happen(world: World): Promise<void> {
  if (!world.model.exists) return;
  // The stream of a run at work has no end yet.
  if (!world.model.inFlight) await checkReaders(world);
  await HAPPENINGS[world.given.lifecycle as keyof typeof HAPPENINGS](world);
}

const HAPPENINGS: Record<Exclude<Case["lifecycle"], "none">, (world: World) => Promise<void>> = {
  async prune(world) {
    const body = { thread_ids: [world.weir.threadId], strategy: "keep_latest" };
    world.expect("prune", await world.weir.json("/threads/prune", { body }), { pruned_count: 1 });
    world.model.keepLatest();
    await world.checkHistory();
  },
  "ttl delete": (world) => world.advance(TTL_MS + MINUTE),
  async "ttl keep_latest"(world) {
    await world.advance(TTL_MS + MINUTE);
    await world.checkHistory();
  },
  async compaction(world) {
    await world.advance(COMPACTED_AFTER);
    await checkReaders(world);
  },
  async copy(world) {
    const made = await world.weir.json<{ thread_id: string }>(`${world.weir.path}/copy`, { method: "POST" });
    if (typeof made === "number") throw new Mismatch(`a copy answers ${made}`);
    world.left.push({ weir: world.weir, model: world.model });
    const copy = new Weir(world.weir.caller, world.weir.graphId, world.weir.shape, world.weir.faults);
    copy.threadId = made.thread_id;
    world.model = world.model.copy();
    world.weir = copy;
  },
  async deletion(world) {
    const { status } = await world.weir.call(world.weir.path, { method: "DELETE" });
    world.expect("the deletion of the thread", status, world.model.temporary?.at === undefined ? 204 : status);
    world.model.remove();
    world.release();
  },
  async "run deletion"(world) {
    const { open, now } = world.model;
    const name =
      open.findLast(({ due }) => due <= now)?.name ?? world.model.runs.findLast(({ ran }) => ran)?.name ?? "";
    if (name === "") return;
    await deleteRun(world, name);
    world.release();
  },
};

/** All that is visible, at the end. */
export async function checkEverything(world: World): Promise<void> {
  const here = { weir: world.weir, model: world.model };
  for (const { weir, model } of [...world.left, here]) {
    [world.weir, world.model] = [weir, model];
    await world.check();
    if (world.model.exists) {
      await world.checkHistory();
      await checkSearch(world);
      await checkReaders(world);
      if (!world.heavy) await checkLaws(weir, [], false);
    } else await checkStorage(world);
    await checkEffects(world);
  }
  checkExecutions(world);
  if (world.weir.faults.length > 0) throw new Mismatch(world.weir.faults.join("; "));
}

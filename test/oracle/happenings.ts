/** What happens in a case besides runs and stops. Each does it to the product and to the model. */

import type { Case } from "./dimensions.ts";
import { checkEffects, checkExecutions, checkReaders, checkSearch, checkStorage } from "./checks.ts";
import type { RunSpec, Ttl } from "./model.ts";

import { Weir } from "./weir.ts";
import { Mismatch, type World } from "./world.ts";

const MINUTE = 60_000;
const TTL_MS = 30 * MINUTE;
/** A thread is compacted ten minutes after its last run. */
const COMPACTED_AFTER = 11 * MINUTE;
/** The watchdog of a run in flight comes within seconds. */
const SOON = 60_000;

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

/** A thread with only a delayed run has no watchdog. */
export async function expectRest(world: World): Promise<void> {
  await world.weir.alarms();
  const { alarm } = await world.weir.stored();
  const { ahead } = await import("../support/clock.ts");
  const left = alarm === null ? Infinity : alarm + ahead() - Date.now();
  if (left < SOON) throw new Mismatch(`an alarm comes in ${left} ms, though only a delayed run waits`);
  const due = world.model.open[0]?.due ?? 0;
  if (left > due - world.model.now + SOON) throw new Mismatch(`the alarm comes in ${left} ms, after the run is due`);
}

export async function update(world: World): Promise<void> {
  const body = { values: { log: ["update"] }, as_node: world.weir.shape.last ?? "close" };
  const response = await world.weir.call(`${world.weir.path}/state`, { body });
  world.expect("the answer to a state update", response.status, world.model.update("update"));
}

/** Starts the run, twice at the same moment where the case repeats requests. */
export async function startOnce(world: World, spec: RunSpec, repeats: boolean): Promise<void> {
  const { kind, reader, repetition } = world.given;
  const key = `${world.weir.graphId} ${spec.name}`;
  if (!repeats || repetition === "none" || repetition === "expired key") return world.start(spec, { kind, reader });
  if (repetition === "command") {
    const how = { kind, reader: "protocol" as const, commandId: 7 };
    return twice(world, spec, how);
  }
  return twice(world, spec, { kind, reader, key, commandId: 301 });
}

async function twice(world: World, spec: RunSpec, how: Parameters<World["start"]>[1]): Promise<void> {
  await world.start(spec, how);
  const first = world.weir.ids.get(spec.name);
  const again = await world.weir.start({ ...spec, webhook: how?.reader !== "protocol" }, how);
  world.expect(`the repeated request for ${spec.name}`, again, 200);
  world.expect(`the run of the repeated request for ${spec.name}`, world.weir.ids.get(spec.name), first);
}

/** The same request again, when its run has ended. */
export async function again(world: World, name: string): Promise<void> {
  if (!world.model.exists) return;
  const first = world.weir.ids.get(name);
  const status = await world.weir.start({ name, turn: "t3", webhook: true }, { key: `${world.weir.graphId} ${name}` });
  world.expect("the repeated request", status, 200);
  world.expect("the run of the repeated request", world.weir.ids.get(name), first);
}

/** Answers question after question. The last answer's run is left at work when `holds`. */
export async function answerAll(world: World, holds: boolean): Promise<void> {
  const { model } = world;
  for (let n = 1; model.exists && model.next.length > 0; n += 1) {
    const { asks } = model;
    const atOnce = asks.length > 1 && !holds ? asks.slice(0, 1) : asks;
    const isLast = atOnce.length === asks.length && !(world.given.pause === "twice" && asks[0] === "One?");
    if (isLast && holds) world.hold("close");
    const answers = Object.fromEntries(atOnce.map((question) => [question, `yes${n}`]));
    const spec: RunSpec = { name: `a${n}`, ...(atOnce.length > 0 && { answers }) };
    await startAnswer(world, spec);
    if (isLast) {
      if (holds) await expectTaken(world, spec);
      return;
    }
    await world.finish(spec.name);
    await world.check();
  }
}

async function startAnswer(world: World, spec: RunSpec): Promise<void> {
  const { reader, repetition } = world.given;
  if (repetition === "command" && spec.answers)
    return twice(world, spec, { reader: "protocol", commandId: 100 + Number(spec.name.slice(1)) });
  if (repetition === "key")
    return twice(world, spec, { reader, key: `${world.weir.graphId} ${spec.name}`, commandId: 300 });
  return world.start(spec, { reader });
}

/** Another answer to the same question, while the run that answers it is at work, is refused. */
async function expectTaken(world: World, { name, answers }: RunSpec): Promise<void> {
  if (!answers) return;
  await world.weir.reaches("close");
  const other = Object.fromEntries(Object.keys(answers).map((question) => [question, "late"]));
  const status = await world.weir.start({ name: "late", answers: other }, { reader: "protocol", commandId: 999 });
  if (status === 200) world.weir.results.delete("late");
  world.expect(`a second answer while ${name} is at work`, status, 409);
}

/** Runs until nothing waits. */
export async function completeAll(world: World): Promise<void> {
  const { model } = world;
  for (let n = 1; model.exists && model.next.length > 0; n += 1) {
    if (n > 9) throw new Mismatch(`the model never ends: ${model.next.join()}`);
    const answers = Object.fromEntries(model.asks.map((question) => [question, `no${n}`]));
    await world.start({ name: `c${n}`, ...(model.asks.length > 0 && { answers }) });
    await world.finish(`c${n}`);
    await world.check();
  }
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
    const name = world.model.open.at(-1)?.name ?? world.model.runs.findLast(({ ran }) => ran)?.name ?? "";
    if (name === "") return;
    const path = `${world.weir.path}/runs/${world.weir.ids.get(name)}`;
    const { status } = await world.weir.call(path, { method: "DELETE" });
    world.expect(`the deletion of the run ${name}`, status, 204);
    world.model.removeRun(name);
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
    } else await checkStorage(world);
    await checkEffects(world);
  }
  checkExecutions(world);
  if (world.weir.faults.length > 0) throw new Mismatch(world.weir.faults.join("; "));
}

/** Requests for the run under test, for answers to its questions, and the same requests again. */
import type { RunSpec } from "./model.ts";
import { heldBy } from "./stops.ts";
import { Mismatch, type World } from "./world.ts";

/** Starts the run, twice at the same moment where the case repeats requests. */
export async function startOnce(world: World, spec: RunSpec, repeats: boolean): Promise<void> {
  const { kind, reader, repetition } = world.given;
  const key = `${world.id} ${spec.name}`;
  if (!repeats || (repetition !== "key" && repetition !== "command")) return world.start(spec, { kind, reader });
  if (repetition === "command") {
    const how = { kind, reader: "protocol" as const, commandId: 7 };
    return answerTwice(world, spec, how);
  }
  return answerTwice(world, spec, { kind, reader, key, commandId: 301 });
}

async function answerTwice(world: World, spec: RunSpec, how: Parameters<World["start"]>[1]): Promise<void> {
  await world.start(spec, how);
  const first = world.weir.ids.get(spec.name);
  const again = await world.weir.start(world.complete(spec, how), how);
  world.expect(`the repeated request for ${spec.name}`, again, 200);
  world.expect(`the run of the repeated request for ${spec.name}`, world.weir.ids.get(spec.name), first);
}

/** The last turn, from where the case says. */
export async function startLast(world: World): Promise<void> {
  const { model, weir } = world;
  const from = world.given.from === "earlier" && model.exists ? model.earlier?.id : undefined;
  if (from !== undefined)
    world.forkedFrom = await weir.checkpoint(model.checkpoints.toReversed().findIndex(({ id }) => id === from));
  await world.start({ name: "t3", turn: "t3", from }, { key: `${world.id} t3`, checkpoint: world.forkedFrom });
  if (!model.exists) return;
  await world.finish("t3");
  await startForks(world);
}

/** Two more runs from earlier checkpoints: of the branch that the last one has begun, or of the message that it edits. */
async function startForks(world: World): Promise<void> {
  const { model, weir, given } = world;
  if (given.from !== "fork of a fork" && given.from !== "edit of an edit") return;
  for (const [before, name] of [
    ["t3", "e1"],
    ["e1", "e2"],
  ] as const) {
    const own = model.checkpoints.filter(({ by }) => by === before);
    // A client edits a message from the parent of the first checkpoint that has it.
    const at = given.from === "edit of an edit" ? own[0] : own.at(-1);
    const place = model.checkpoints.toReversed().findIndex(({ id }) => id === at?.id);
    const checkpoint = place === -1 ? undefined : await weir.checkpoint(place);
    await world.start({ name, turn: name, from: at?.id }, { checkpoint });
    await world.finish(name);
    await world.check();
  }
}

/** The same request again, when its run has ended. */
export async function answerAgain(world: World, name: string): Promise<void> {
  if (!world.model.exists) return;
  const first = world.weir.ids.get(name);
  const how = { key: `${world.id} ${name}`, checkpoint: world.forkedFrom };
  const status = await world.weir.start(world.complete({ name, turn: "t3" }), how);
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
    if (isLast && holds) world.hold(heldBy(world.given));
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
  const { reader, repetition, graph } = world.given;
  // A run whose graph throws may have ended when the command comes again: its question waits again, and the answer is a new one.
  if (repetition === "command" && spec.answers && graph !== "throws")
    return answerTwice(world, spec, { reader: "protocol", commandId: 100 + Number(spec.name.slice(1)) });
  if (repetition === "key")
    return answerTwice(world, spec, { reader, key: `${world.id} ${spec.name}`, commandId: 300 });
  return world.start(spec, { reader });
}

/** Another answer to the same question, while the run that answers it is at work, is refused. */
async function expectTaken(world: World, { name, answers }: RunSpec): Promise<void> {
  if (!answers) return;
  await world.weir.waitUntilReached(heldBy(world.given));
  const other = Object.fromEntries(Object.keys(answers).map((question) => [question, "late"]));
  const status = await world.weir.start({ name: "late", answers: other }, { reader: "protocol", commandId: 999 });
  if (status === 200) world.weir.results.delete("late");
  world.expect(`a second answer while ${name} is at work`, status, 409);
}

/** Runs until nothing waits. */
export async function completeAll(world: World): Promise<void> {
  const { model } = world;
  if (model.exists && model.asks.length > 0) await continueWithout(world);
  for (let n = 1; model.exists && model.next.length > 0; n += 1) {
    if (n > 9) throw new Mismatch(`the model never ends: ${model.next.join()}`);
    const answers = Object.fromEntries(model.asks.map((question) => [question, `no${n}`]));
    await world.start({ name: `c${n}`, ...(model.asks.length > 0 && { answers }) });
    await world.finish(`c${n}`);
    await world.check();
  }
}

/** What a state update has left to do asks when a run comes to it. */
export async function askAgain(world: World): Promise<void> {
  const { model, given } = world;
  if (given.update === "as a node" && model.exists && model.next.length > 0 && model.asks.length === 0)
    await continueWithout(world);
}

/** A run without an answer asks again. */
async function continueWithout(world: World): Promise<void> {
  const name = world.model.run("n") || world.weir.ids.has("n") ? "n2" : "n";
  await world.start({ name });
  await world.finish(name);
  await world.check();
}

/** How a run that waits at a gate is stopped. */
import type { Case } from "./dimensions.ts";
import * as gates from "./gates.ts";
import type { Step } from "./program.ts";
import { cancel, whileAtWork } from "./others.ts";
import type { RunSpec } from "./model.ts";
import type { Gate, World } from "./world.ts";

const HOUR = 3_600_000;

/** Whether the case stops a run, or does something to its thread, while a node is at work. */
export function needsHold(given: Case): boolean {
  const { stop, other, removal } = given;
  return (
    stop !== "none" || other === "queued" || removal === "asked" || removal === "with one behind" || isTaken(given)
  );
}

/** Whether what happens to its thread opens the gate of the run at work. */
const isTaken = ({ stop, lifecycle, moment }: Case): boolean =>
  stop === "none" && moment === "stop" && (lifecycle === "deletion" || lifecycle === "run deletion");

/** The node that is at work when the run with the last answer is stopped. */
export function heldBy({ at, pause }: Case): Gate {
  if (at === "last node") return "close";
  return pause === "parallel" ? "right" : "ask";
}

/** The steps that stop a run that waits at the gate of `node`, or let it end. */
export function listSteps(given: Case, name: string, node: Gate): Step[] {
  // Runs of others, and the one behind it, come while it is at work.
  const isAnswer = ({ name: own, assistant }: RunSpec) => assistant === undefined && own !== "b";
  const target = ({ model }: World) => (name === "last answer" ? (model.runs.findLast(isAnswer)?.name ?? "") : name);
  const { stop } = given;
  const end = {
    name: `${name} ends`,
    work: async (world: World) => {
      const run = target(world);
      world.release();
      await world.finish(run);
      // The thread of a stateless run is not shown when the run has ended.
      if (!world.model.temporary) await world.check();
    },
  };
  if (!needsHold(given)) return [end];
  const isAtWork = {
    name: `${name} is at work`,
    work: async (world: World) => {
      // The run may have ended without this node.
      if (world.model.open.some((one) => one.name === target(world))) await world.weir.waitUntilReached(node);
    },
  };
  const meanwhile = [isAtWork, ...whileAtWork(given, target)];
  if (stop === "none") return isTaken(given) ? meanwhile : [...meanwhile, end];
  const work = async (world: World) => {
    const run = target(world);
    if (!world.model.open.some((one) => one.name === run)) return;
    await STOPS[stop](world, run, node);
  };
  return [...meanwhile, { name: `${stop} of ${name}`, work }, end];
}

type Stop = (world: World, run: string, node: Gate) => Promise<void>;

/** Either way to stop a run for another one, by the case's seed. */
export const eitherStop = ({ random }: World) => (random.next() < 0.5 ? "interrupt" : "rollback");

const STOPS: Record<Exclude<Case["stop"], "none">, Stop> = {
  async cancel(world, run) {
    await cancel(world, run, "interrupt");
    world.model.stop(run, "interrupt");
  },

  async rollback(world, run) {
    await cancel(world, run, "rollback");
    world.model.stop(run, "rollback");
  },

  /** Another run takes its place. */
  async replace(world) {
    await world.start({ name: "r", turn: "r", strategy: eitherStop(world) });
    world.release();
    await world.finish("r");
  },

  /** Its process stops, and starts again when its time is over. */
  async timeout(world, run) {
    await world.clock.sleep(2 * HOUR);
    await world.weir.kill();
    world.model.crash();
    world.model.advance(2 * HOUR);
    world.model.stop(run, "timeout");
    await world.weir.runs();
    await world.finish(run);
  },

  async kill(world, _run, node) {
    gates.forget(world.weir.graphId, node);
    await world.weir.kill();
    world.model.crash();
    world.model.settle();
    await world.weir.thread();
    await world.weir.waitUntilReached(node);
  },

  /** The stop is accepted, and the process stops before the run has ended. */
  async "kill after stop"(world, run, node) {
    world.hold(node, "stubborn");
    const how = eitherStop(world);
    await world.weir.stopAndDie(world.weir.ids.get(run) ?? "", how);
    world.model.crash();
    world.model.stop(run, how);
    await world.weir.runs();
    await world.finish(run);
  },
};

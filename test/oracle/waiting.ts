/** What happens on a thread while a delayed run waits: it is as at rest, and takes other runs. */
import { readOffset } from "../support/clock.ts";
import type { Case } from "./dimensions.ts";
import { cancel, update } from "./others.ts";
import { LATE_MS } from "./patience.ts";
import type { RunSpec } from "./model.ts";
import type { Step } from "./program.ts";
import { eitherStop } from "./stops.ts";
import type { Start } from "./weir.ts";
import { Mismatch, type World } from "./world.ts";

const HOUR = 3_600_000;
/** The watchdog of a run in flight comes within seconds. */
const SOON = 60_000;

/** A thread with only a delayed run has no watchdog. */
async function expectRest(world: World): Promise<void> {
  await world.weir.alarms();
  const { alarm } = await world.weir.measureStored();
  const left = alarm === null ? Infinity : alarm + readOffset() - LATE_MS - Date.now();
  if (left < SOON) throw new Mismatch(`an alarm comes in ${left} ms, though only a delayed run waits`);
  const due = world.model.open[0]?.due ?? 0;
  if (left > due - world.model.now + SOON) throw new Mismatch(`the alarm comes in ${left} ms, after the run is due`);
}

/** A run that must be the only one is refused. One that waits longer is cancelled, and those that are due at once end. */
async function startOthers(world: World): Promise<void> {
  await world.start({ name: "only", turn: "only", strategy: "reject" });
  await world.start({ name: "later", turn: "later", afterMs: 2 * HOUR });
  const how = eitherStop(world);
  await cancel(world, "later", how);
  world.model.stop("later", how);
  world.hold("speak");
  await world.start({ name: "now", turn: "now" });
  await world.start({ name: "next", turn: "next" });
  world.release();
  await world.finish("now");
  await world.finish("next");
}

/** A run that is requested while another one waits takes its place: neither is due. */
export async function startInPlace(world: World, spec: RunSpec, how: Start): Promise<void> {
  await world.start({ name: "early", turn: "early", afterMs: 2 * HOUR });
  await world.start({ ...spec, strategy: eitherStop(world) }, how);
}

/** Of runs that are due when an alarm comes, the one that was due first begins first, though it was requested last. */
export const startSooner = async (world: World, due: number): Promise<void> =>
  world.start({ name: "sooner", turn: "sooner", afterMs: due });

/** The steps between the request for a delayed run and its begin. */
export function stepsWhileWaiting(given: Case, check: Step): Step[] {
  return [
    { name: "rest", work: expectRest },
    check,
    ...(given.form === "functional"
      ? []
      : [{ name: "a state update while t2 waits", work: (world: World) => update(world, { log: "update" }) }, check]),
    { name: "other runs while t2 waits", work: startOthers },
    { name: "rest after other runs", work: expectRest },
    check,
  ];
}

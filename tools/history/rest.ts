/** Waits until a round's threads rest, and then looks at everything once, as the client AUDITOR. */
import { setTimeout as sleep } from "node:timers/promises";
import { Dice } from "../fuzz/dice.ts";
import { AUDITOR, now, type Of, type ThreadSeen } from "./record.ts";
import { readWhole, watch } from "./steps/follow.ts";
import { joinRun, listRuns, readHistory, readRun, readState, readThread, search } from "./steps/read.ts";
import { stateKey } from "./shown.ts";
import type { Place, Step, World } from "./world.ts";

/** The longest time until all runs have ended. What has not ended then is a violation. */
const REST_MS = 120_000;
const isOpen = ({ status }: { status: string }) => status === "pending" || status === "running";

const audit = (world: World, place: Place): Step => ({ world, place, client: AUDITOR, number: 0, dice: new Dice(0) });

async function waitForRest(step: Step): Promise<void> {
  const until = now() + REST_MS;
  for (;;) {
    const { outcome, runs } = await listRuns(step);
    if (outcome === "ok" && !runs.some(isOpen)) return;
    if (now() > until) return;
    await sleep(300);
  }
}

/** What a search shows agrees with the thread: the status, and the state if both have it. */
function isSameThread(thread: ThreadSeen | undefined, found: ThreadSeen | undefined): boolean {
  if (!thread || !found) return thread === found;
  const { values } = thread;
  return thread.status === found.status && (!values || !found.values || stateKey(values) === stateKey(found.values));
}

/** Searches until the threads look as when they were read, or the bound has passed. */
async function searchUntilAgreed(step: Step, reads: Of<"thread">[], bound: number): Promise<void> {
  const until = now() + bound;
  for (;;) {
    const { found } = await search(step);
    if (
      reads.every(({ thread, seen }) =>
        isSameThread(
          seen,
          found.find((one) => one.thread === thread),
        ),
      )
    )
      return;
    if (now() > until) return;
    await sleep(200);
  }
}

/** Waits for rest and records what each thread, run and stream shows then. */
export async function auditAtRest(world: World, searchBound: number): Promise<void> {
  const steps = world.places.map((place) => audit(world, place));
  await Promise.all(steps.map(waitForRest));
  const reads: Of<"thread">[] = [];
  for (const step of steps) {
    await readState(step);
    await readHistory(step, 1_000);
    reads.push(await readThread(step));
    const { runs } = await listRuns(step);
    const known = new Map(step.place.runs.map((run) => [run.id, run]));
    for (const { run } of runs) if (!known.has(run)) known.set(run, { id: run, resumable: false });
    for (const run of known.values()) {
      await readRun(step, run);
      if (run.resumable) await readWhole(step, run);
    }
    for (const { run } of runs.slice(0, 3)) await joinRun(step, { id: run, resumable: false });
    if (world.features.protocol) await watch(step, true);
  }
  for (const copy of world.copies) await readState(steps[0] as Step, copy);
  await searchUntilAgreed(steps[0] as Step, reads, searchBound);
}

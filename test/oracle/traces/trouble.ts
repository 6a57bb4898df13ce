/** What goes wrong or arrives during a deletion. */
import { type Effect, type Fault, failOnce, holdOnce, restartOnce } from "./effects.ts";
import type { Doomed } from "./removals.ts";
import type { Write } from "./run.ts";
import type { World } from "./world.ts";

/** An effect of this workspace. */
const matchEffect =
  ({ weir }: World, ...names: string[]) =>
  ({ name, text }: Effect): boolean =>
    names.some((one) => name.startsWith(one)) && text.includes(weir.caller.workspaceId);

/** Deletes while something goes wrong, and then again. */
export async function deleteDespite(world: World, doomed: Doomed): Promise<void> {
  const fault = startTrouble(world, doomed);
  try {
    const status = await doomed.ask();
    doomed.apply();
    const isCertain = world.given.trouble === "object" || world.given.trouble === "restart";
    if (isCertain && world.given.removal !== "expiry" && !fault.isDone()) throw new Error("nothing went wrong");
    if (status !== 200 && status < 500) throw new Error(`a deletion in trouble: ${status}`);
    if (status === 200 && (world.given.removal !== "expiry" || !fault.isDone())) return;
  } finally {
    fault.stop();
  }
  const again = await doomed.ask();
  if (again !== 200) throw new Error(`the same deletion again: ${again}, must be 200`);
}

function startTrouble(world: World, doomed: Doomed): Fault {
  const last = doomed.runs[0]?.day ?? "";
  const inObject = matchEffect(world, "object deleteTraces", "object destroy");
  switch (world.given.trouble) {
    case "object":
      return failOnce((effect) => inObject(effect) && effect.text.includes(`/${last}`));
    case "d1": {
      let left = world.random.between(0, 2);
      const deletes = matchEffect(world, "d1 delete");
      return failOnce((effect) => deletes(effect) && left-- <= 0);
    }
    case "r2":
      return failOnce(matchEffect(world, "r2 delete", "r2 list"));
    case "restart":
    case "none": {
      const deletes = matchEffect(world, "d1 delete");
      return restartOnce((effect) => inObject(effect) || deletes(effect));
    }
  }
}

/** A run that arrives while its day expires; or one that is on its way while its trace or project is deleted. */
export async function arriveDuring(world: World, doomed: Doomed): Promise<void> {
  const { given, project } = world;
  if (given.removal === "expiry") {
    const writes = world.programs.fillers(1);
    const hold = holdOnce(matchEffect(world, "d1 delete feedback_places"), async () => {
      doomed.apply();
      await world.send(writes, "batch");
    });
    await doomed.ask().finally(hold.stop);
    if (!hold.isDone()) throw new Error("no write came while the day expired");
    return;
  }
  const root = doomed.runs.find(({ isRoot, runType }) => isRoot && runType !== "tool");
  const { writes } = world.programs.run({ above: root?.dotted ?? "" });
  const inProject = writes.map((write) => toSessionId(write, world.session));
  const hold = holdOnce(matchEffect(world, "object upsert"), async () => {
    doomed.apply();
    const status = await doomed.ask();
    if (status !== 200) throw new Error(`the deletion: ${status}, must be 200`);
  });
  // The answer may say that the run is not taken.
  await world.weir
    .send(inProject, "batch", world.random)
    .catch(() => undefined)
    .finally(hold.stop);
  if (!hold.isDone()) throw new Error("nothing was deleted while the run was on its way");
  if (!project.isDeleted) project.take(writes);
}

/** The write with its project's id in place of the name. */
function toSessionId({ kind, id, fields }: Write, session: string): Write {
  const { session_name: _, ...rest } = fields;
  return { kind, id, fields: { ...rest, session_id: JSON.stringify(session) } };
}

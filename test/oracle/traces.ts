/** Each run that has begun has exactly one trace; a run that never began has none. Read at the end, once for each workspace. */
import type { Caller } from "../support/caller.ts";
import type { Case } from "./dimensions.ts";
import { pause } from "./patience.ts";
import type { Failure } from "./run-case.ts";
import { difference } from "./views.ts";
import type { World } from "./world.ts";

const LOOKS = 60;
const LOOK_MS = 500;
/** Before the day of the oracle's first run: a query without it finds what began lately. */
const EVER = "2020-01-01T00:00:00Z";

/** The runs of a case, with the number of traces that each must have. */
export interface Owed {
  given: Case;
  caller: Caller;
  runs: { name: string; id: string; traces: number }[];
}

export function listOwed({ given, weir, model, left }: World): Owed {
  const runs = [...left, { weir, model }].flatMap((one) =>
    [...one.weir.ids].map(([name, id]) => ({
      name,
      id,
      traces: one.model.traces.filter((run) => run === name).length,
    })),
  );
  return { given, caller: weir.caller, runs };
}

/** The ids of all root runs of the workspace. */
async function listRoots(caller: Caller): Promise<string[]> {
  const [project] = await (await caller.fetch("/api/v1/sessions?name=default")).json<{ id: string }[]>();
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const query = { session: [project?.id], is_root: true, start_time: EVER, limit: 100, select: ["id"], cursor };
    const answer = await caller.fetch("/runs/query", { body: query });
    const { runs, cursors } = await answer.json<{ runs: { id: string }[]; cursors: { next?: string | null } }>();
    found.push(...runs.map(({ id }) => id));
    cursor = cursors.next ?? undefined;
  } while (cursor);
  return found;
}

/** The cases whose runs have other traces than they must have. */
export async function wrongTraces(owed: readonly Owed[]): Promise<Failure[]> {
  for (let left = LOOKS; ; left -= 1) {
    const roots = new Map<Caller, string[]>();
    for (const caller of new Set(owed.map((one) => one.caller))) roots.set(caller, await listRoots(caller));
    const failures = owed.flatMap(({ given, caller, runs }) => {
      const all = roots.get(caller) ?? [];
      const real = Object.fromEntries(runs.map(({ name, id }) => [name, all.filter((root) => root === id).length]));
      const reason = difference(real, Object.fromEntries(runs.map(({ name, traces }) => [name, traces])));
      return reason === undefined ? [] : [{ given, step: "traces", reason: `traces of ${reason}` }];
    });
    if (failures.length === 0 || left === 0) return failures;
    await pause(LOOK_MS);
  }
}

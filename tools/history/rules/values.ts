/** What a successful run ends with, as its readers get it, is the last state that it wrote. */
import type { Of, Operation, StateSeen } from "../record.ts";
import { type Facts, canBeGone, type Violation } from "../facts.ts";
import { lengths, sameState, type Shown, toShown } from "../shown.ts";
import { listAtRest, violation } from "./state.ts";

/** The newest state that a run wrote, oldest first in the map. */
function lastStates(history: Of<"history">): Map<string, StateSeen> {
  const last = new Map<string, StateSeen>();
  for (const state of history.states)
    if (state.run && state.source !== "update" && !last.has(state.run)) last.set(state.run, state);
  return last;
}

interface Values {
  by: Operation;
  run: string;
  values: Shown;
}

/** Successful runs whose final values are not the last state that they wrote. */
function disagreements(facts: Facts, rule: string, listValues: (thread: string) => Values[]): Violation[] {
  return listAtRest(facts).flatMap(({ thread, history }) => {
    if (!history) return [];
    const last = lastStates(history);
    return listValues(thread).flatMap(({ by, run, values }) => {
      const state = last.get(run);
      const known = facts.runs.get(run);
      if (!state || !values.whole || known?.atRest !== "success" || canBeGone(known, Infinity)) return [];
      if (sameState(values, state)) return [];
      const message = `The run's values are not its last state: ${lengths(values)}, and ${lengths(state)} in the history.`;
      return [violation(rule, thread, message, [by, history], run)];
    });
  });
}

/** The answer of /wait is the run's last state in the history. */
export const waitAgrees = (facts: Facts): Violation[] =>
  disagreements(facts, "wait-agrees", (thread) =>
    facts
      .listAnswered("start", thread)
      .flatMap((by) => (by.run && by.values ? [{ by, run: by.run, values: by.values }] : [])),
  );

/** So is the answer of join. */
export const joinAgrees = (facts: Facts): Violation[] =>
  disagreements(facts, "join-agrees", (thread) =>
    facts.listAnswered("join", thread).flatMap((by) => (by.values ? [{ by, run: by.run, values: by.values }] : [])),
  );

/** So are the last values of a stream that the server ended. */
export const streamAgrees = (facts: Facts): Violation[] =>
  disagreements(facts, "stream-agrees", (thread) =>
    facts.listAnswered("read", thread).flatMap((by) => {
      const values = by.ended ? by.frames.findLast(({ event }) => event === "values") : undefined;
      return by.run && values ? [{ by, run: by.run, values: toShown(JSON.parse(values.data)) }] : [];
    }),
  );

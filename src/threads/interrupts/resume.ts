/** Which interrupts a run resumes, and why it must not. A run that is refused runs nothing, and leaves the thread as it was. */
import type { RunRequest } from "../rpc.ts";
import { type ResumeRefusal, toRunRecord, type RunRecord } from "../run.ts";
import type { ThreadContext } from "../context.ts";
import type { RunError } from "../types.ts";
import { interruptIds, interruptIdsIn, severalWait } from "./waiting.ts";

/** The ids of the pending interrupts that a command resumes: those that it names, or the only one when it names none. */
export function listResumedInterrupts({ command, must_resume }: RunRequest, pending: string[]): string[] {
  if (command?.resume == null) return [];
  const named = must_resume ?? interruptIdsIn(command.resume);
  if (named.length > 0) return pending.filter((id) => named.includes(id));
  return pending.length === 1 ? pending : [];
}

/**
 * Why the run must not continue; undefined when it may. `pending_ids`: the interrupts that wait where it continues. `isStrict`: what it
 * names must wait there.
 */
export function refuseResume(
  { command, must_resume }: RunRequest,
  pending_ids: string[],
  isStrict: boolean,
): ResumeRefusal | undefined {
  if (command?.resume == null) return undefined;
  const named = must_resume ?? interruptIdsIn(command.resume);
  if (named.length === 0 && pending_ids.length > 1)
    return { reason: "several_interrupts", interrupt_ids: [], pending_ids };
  const interrupt_ids = named.filter((id) => !pending_ids.includes(id));
  const resumesSome = named.length > 0 || pending_ids.length > 0;
  return !isStrict || (resumesSome && interrupt_ids.length === 0)
    ? undefined
    : { reason: "unknown_interrupt", interrupt_ids, pending_ids };
}

/** `first`: who has answered what is refused, where that is known. */
export const refusedError = ({ reason, interrupt_ids, pending_ids }: ResumeRefusal, first?: string): RunError => {
  if (reason === "several_interrupts") return { error: "SeveralInterruptsError", message: severalWait(pending_ids) };
  const said =
    interrupt_ids.length > 0
      ? `No interrupt with this id waits for an answer: ${interrupt_ids.join(", ")}.`
      : "No interrupt waits for an answer.";
  return { error: "UnknownInterruptError", message: first ? `${said} ${first}` : said };
};

/**
 * The answer for the one question of a state that a migration wrote: LangGraph asks it under another id, so that an answer by id
 * is given as a plain one. Throws where several questions wait: their ids no longer say which is which.
 */
export function responseAfterMigration(resume: unknown, pending: string[]): unknown {
  const named = interruptIdsIn(resume);
  if (named.length === 0) return resume;
  if (named.length === 1 && pending.length === 1) return (resume as Record<string, unknown>)[named[0] as string];
  throw new Error(
    "Several questions wait on a state that a migration wrote. Run the thread without an input: it asks them again.",
  );
}

// Which run has asked a question.

/** Newest runs that executed, among which the one that asked is looked for. */
const MAX_SEARCHED_RUNS = 50;

/** The newest run that has asked the question. Undefined where it was asked on the thread of which this one is a copy. */
export function runOfInterrupt({ tables }: Pick<ThreadContext, "tables">, id: string): RunRecord | undefined {
  let left = MAX_SEARCHED_RUNS;
  for (const row of tables.runs.list(Infinity, 0)) {
    const run = toRunRecord(row);
    if (interruptIds(run.outcome.interrupts).includes(id)) return run;
    // A run that waits or was refused has left the questions as they were.
    if (run.outcome.attempt > 0 && !run.outcome.refusal && (left -= 1) === 0) return undefined;
  }
  return undefined;
}

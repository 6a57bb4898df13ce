/**
 * Which questions a run answers. Strict resume: an answer to a question that does not wait runs nothing, and leaves the
 * thread as it was.
 */
import type { RunRequest } from "../rpc.ts";
import { type ResumeRefusal, toRunRecord, type RunRecord } from "../run.ts";
import type { ThreadContext } from "../context.ts";
import type { Interrupt } from "../types.ts";

/** LangGraph's rule to distinguish a map of answers by interrupt from an answer that is an object. */
const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** The ids of the pending questions that a command answers: those that it names, or all when it names none. */
export function listResumedInterrupts({ command, must_resume: answers }: RunRequest, pending: string[]): string[] {
  if (command?.resume === undefined) return [];
  const named = answers ?? interruptIdsIn(command.resume);
  return named.length > 0 ? pending.filter((id) => named.includes(id)) : pending;
}

/**
 * Why the run must not continue; undefined when it may. `pending_ids`: what waits on the thread. Not asked of a run from an earlier
 * checkpoint, which depends on the interrupts of that checkpoint. A request that says what it answers is strict: what it answers may have
 * been replaced since it came.
 */
export function checkStrictResume(
  { strict_resume, command, must_resume: answers }: RunRequest,
  pending_ids: string[],
): ResumeRefusal | undefined {
  const resume = command?.resume;
  if ((!strict_resume && !answers) || resume === undefined) return undefined;
  const named = answers ?? interruptIdsIn(resume);
  const interrupt_ids = named.filter((id) => !pending_ids.includes(id));
  const answersSome = named.length > 0 || pending_ids.length > 0;
  return answersSome && interrupt_ids.length === 0
    ? undefined
    : { reason: "unknown_interrupt", interrupt_ids, pending_ids };
}

/** `first`: who has answered what is refused, where that is known. */
export const refusedError = ({ interrupt_ids }: ResumeRefusal, first?: string) => {
  const said =
    interrupt_ids.length > 0
      ? `No interrupt with this id waits for an answer: ${interrupt_ids.join(", ")}.`
      : "No interrupt waits for an answer.";
  return { error: "UnknownInterruptError", message: first ? `${said} ${first}` : said };
};

export function interruptIdsIn(resume: unknown): string[] {
  const keys = typeof resume === "object" && resume !== null ? Object.keys(resume) : [];
  return keys.length > 0 && keys.every((key) => INTERRUPT_ID.test(key)) ? keys : [];
}

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
    if (idsOfInterrupts(Object.values(run.outcome.interrupts ?? {}).flat()).includes(id)) return run;
    // A run that waits or was refused has left the questions as they were.
    if (run.outcome.attempt > 0 && !run.outcome.refusal && (left -= 1) === 0) return undefined;
  }
  return undefined;
}

const idsOfInterrupts = (raised: Interrupt[]): string[] => raised.flatMap((one) => one.id ?? []);

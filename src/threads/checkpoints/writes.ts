/** The writes of tasks under a checkpoint: which of the stored ones count, and which of them are questions. */
import { INTERRUPT, RESUME } from "@langchain/langgraph-checkpoint";
import { withId } from "../../runtime/older.ts";
import { keepCurrent, NO_TASK } from "../../runtime/saver.ts";
import { flatten } from "../../runtime/stored.ts";
import type { Interrupt, Interrupts } from "../types.ts";

/** A write as stored: task, index, channel, the value in stored form, and the run that wrote it. A state update has no run. */
export type StoredWrite = [taskId: string, index: number, channel: string, value: unknown, run?: string];

/**
 * LangGraph's rule: the first write of a task and an index counts. Errors, questions and answers have negative indices, and
 * replace the earlier ones of their task.
 */
export function countingWrites(stored: StoredWrite[]): StoredWrite[] {
  const bySlot = new Map<string, StoredWrite>();
  for (const write of stored) {
    const slot = `${write[0]},${write[1]}`;
    if (write[1] < 0) bySlot.delete(slot);
    if (!bySlot.has(slot)) bySlot.set(slot, write);
  }
  return [...bySlot.values()];
}

/** The questions that wait for an answer, by task, in wire form. `expand` puts long values back in. */
export function questionsIn(stored: StoredWrite[], expand: (value: unknown) => unknown): Interrupts {
  const questions: Interrupts = {};
  for (const { taskId, channel, value } of waiting(stored)) {
    if (channel !== INTERRUPT) continue;
    const raised = [flatten(expand(value))].flat().map(withId) as Interrupt[];
    questions[taskId] = [...(questions[taskId] ?? []), ...raised];
  }
  return questions;
}

/** Whether a write is an answer that this run gave. */
export const isAnswer = (channel: string, run: string | undefined, runId: string): boolean =>
  channel === RESUME && run === runId;

/** The tasks that a run has answered, and whose questions wait again; and that of its answer without an id. */
export function unusedAnswers(stored: StoredWrite[], runId: string): Set<string> {
  const answered = new Set(stored.flatMap(([task, , channel, , run]) => (isAnswer(channel, run, runId) ? task : [])));
  const asking = waiting(stored).filter(({ taskId, channel }) => channel === INTERRUPT && answered.has(taskId));
  return new Set([...asking.map(({ taskId }) => taskId), ...(answered.has(NO_TASK) ? [NO_TASK] : [])]);
}

const waiting = (stored: StoredWrite[]) =>
  keepCurrent(countingWrites(stored).map(([taskId, index, channel, value]) => ({ taskId, index, channel, value })));

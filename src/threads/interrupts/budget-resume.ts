/** The answers to the questions of budgets, taken out of a run's command: none of them reaches the graph. */
import { approvedBy, type BudgetInterrupt, budgetInterrupt } from "./budget.ts";
import { commandWithEffect, type WireCommand } from "../../runtime/drive.ts";
import { pendingInterrupts, type ThreadRecord } from "../record.ts";
import type { RunRecord } from "../run.ts";
import { isFork } from "../runs/insert.ts";
import { listInterrupts, responsesById } from "./waiting.ts";

type RequestedRun = Pick<RunRecord, "request" | "outcome">;

export interface BudgetResponse {
  id: string;
  question: BudgetInterrupt;
  /** What it approves; undefined when it declines. */
  amount: number | undefined;
}

/** The questions of budgets that wait on the thread, by their ids. */
function readBudgetInterrupts(thread: ThreadRecord): Map<string, BudgetInterrupt> {
  const found = new Map<string, BudgetInterrupt>();
  for (const interrupt of listInterrupts(thread.interrupts)) {
    const question = budgetInterrupt(interrupt);
    if (question && interrupt.id !== undefined) found.set(interrupt.id, question);
  }
  return found;
}

/** The ids of the questions that the graph itself has asked. */
export function graphInterrupts(thread: ThreadRecord): string[] {
  const asked = readBudgetInterrupts(thread);
  return pendingInterrupts(thread).filter((id) => !asked.has(id));
}

/** Whether the run continues what waits for a budget: then it continues the count of the run that asked. */
export function resumesBudget(run: RequestedRun, thread: ThreadRecord): boolean {
  const { input, command } = run.request;
  return !isFork(run) && (command != null || input == null) && readBudgetInterrupts(thread).size > 0;
}

/** What the run answers about budgets, and the command with what is left for the graph; undefined when nothing is. */
export function budgetResponses(
  run: RequestedRun,
  thread: ThreadRecord,
): { answers: BudgetResponse[]; command: WireCommand | undefined } {
  const { request } = run;
  const { command } = request;
  const asked = readBudgetInterrupts(thread);
  if (!command || isFork(run) || asked.size === 0 || command.resume == null)
    return { answers: [], command: command ?? undefined };
  const { resume, ...rest } = command;
  const given = responsesById(resume, pendingInterrupts(thread));
  const answers = [...asked].flatMap(([id, question]) =>
    id in given ? [{ id, question, amount: approvedBy(given[id], question.more) }] : [],
  );
  const left = Object.entries(given).filter(([id]) => !asked.has(id));
  return {
    answers,
    command: commandWithEffect({ ...rest, ...(left.length > 0 && { resume: Object.fromEntries(left) }) }),
  };
}

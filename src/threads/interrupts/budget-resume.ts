/** The answers to the questions of budgets, taken out of a run's command: none of them reaches the graph. */
import { approvedBy, type BudgetInterrupt, budgetInterrupt } from "./budget.ts";
import { isObject } from "../../lib/json.ts";
import type { WireCommand } from "../../runtime/drive.ts";
import { pendingInterrupts, type ThreadRecord } from "../record.ts";
import type { RunRecord } from "../run.ts";
import { isFork } from "../runs/insert.ts";
import { listResumedInterrupts } from "./resume.ts";

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
  for (const interrupt of Object.values(thread.interrupts).flat()) {
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
  if (!command || isFork(run) || asked.size === 0 || command.resume === undefined)
    return { answers: [], command: command ?? undefined };
  const { resume, ...rest } = command;
  const pending = pendingInterrupts(thread);
  const answersAll = !isObject(resume) || !Object.keys(resume).some((id) => pending.includes(id));
  const read = (id: string, interrupt: BudgetInterrupt, answer: unknown) => {
    return { id, question: interrupt, amount: approvedBy(answer, interrupt.more) };
  };
  if (!answersAll) {
    const answers = [...asked].flatMap(([id, interrupt]) => (id in resume ? [read(id, interrupt, resume[id])] : []));
    const left = Object.entries(resume).filter(([id]) => !asked.has(id));
    return { answers, command: commandWith(rest, left.length > 0 ? Object.fromEntries(left) : undefined) };
  }
  const others = graphInterrupts(thread);
  // An answer without an id goes to all questions. Beside one of the graph, only its form says that it approves.
  const approves = isObject(resume) && "approve" in resume;
  if (others.length > 0 && !approves)
    return { answers: [], command: commandWith(rest, Object.fromEntries(others.map((id) => [id, resume]))) };
  const wanted = listResumedInterrupts(request, pending);
  const answers = [...asked].filter(([id]) => wanted.includes(id)).map(([id, one]) => read(id, one, resume));
  return { answers, command: commandWith(rest, undefined) };
}

/** The command with this resume. Undefined when it says nothing: then the graph continues as it is. */
function commandWith(rest: Omit<WireCommand, "resume">, resume: unknown): WireCommand | undefined {
  const command = { ...rest, ...(resume !== undefined && { resume }) };
  return resume === undefined && isEmpty(rest.update) && isEmpty(rest.goto) ? undefined : command;
}

/** LangGraph refuses a command without effect. Some clients send an empty update with each answer. */
const isEmpty = (value: unknown): boolean =>
  value == null || (typeof value === "object" && Object.keys(value).length === 0);

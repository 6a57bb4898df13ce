/** The interrupts that wait on a thread, each counted once by its id, and the responses to them by these ids. */
import { Problem } from "../../lib/problem.ts";
import { isObject, type Json } from "../../lib/json.ts";
import type { Interrupt, Interrupts } from "../types.ts";

/**
 * The interrupts by task, each id under one task. Several tasks write one interrupt: a functional graph's task and its entrypoint,
 * and parallel tasks that reach one budget. The last task keeps it: of a functional graph, the entrypoint, which the state names.
 */
export function uniqueById(interrupts: Interrupts): Interrupts {
  const seen = new Set<string>();
  const isFirst = ({ id }: Interrupt) => id === undefined || (!seen.has(id) && seen.add(id));
  const kept = Object.entries(interrupts)
    .toReversed()
    .map(([task, list]) => [task, list.filter(isFirst)] as const)
    .filter(([, list]) => list.length > 0);
  return Object.fromEntries(kept.toReversed());
}

export const listInterrupts = (interrupts: Interrupts = {}): Interrupt[] => Object.values(interrupts).flat();

export const interruptIds = (interrupts: Interrupts | undefined): string[] =>
  listInterrupts(interrupts).flatMap(({ id }) => id ?? []);

/** LangGraph's rule to distinguish responses by interrupt from a response that is an object. */
const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** The ids of the interrupts that a resume value names. None: it is a plain response. */
export function interruptIdsIn(resume: unknown): string[] {
  const keys = isObject(resume) ? Object.keys(resume) : [];
  return keys.length > 0 && keys.every((key) => INTERRUPT_ID.test(key)) ? keys : [];
}

/** Why a plain response to these interrupts is refused, over every protocol. */
export const severalWait = (ids: string[]): string =>
  `Several interrupts wait, and a response is for one. Give each response by the id of its interrupt: ${ids.join(", ")}.`;

/**
 * The responses by the ids of their interrupts. A plain response is for the one that waits. 422 where several do. Where none does, the
 * response is as it was given.
 */
export function responsesById(resume: unknown, waiting: string[]): Json {
  if (interruptIdsIn(resume).length > 0 || waiting.length === 0) return resume as Json;
  if (waiting.length > 1) throw new Problem(422, severalWait(waiting));
  return { [waiting[0] as string]: resume };
}

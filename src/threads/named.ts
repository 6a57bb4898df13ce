import { remoteProblem } from "../lib/problem.ts";

/** A thread in messages of errors: the same for one that does not exist and one that the caller may not see. */
export const threadName = (id: string): string => `Thread with ID ${id}`;

/** The 404 of a thread, thrown inside of its object. */
export const absentThread = (id: string): Error => remoteProblem(404, `${threadName(id)} not found.`);

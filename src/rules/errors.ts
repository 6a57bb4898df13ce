/** Failures of an action. */

/** A failure that another attempt does not change. */
export class Final extends Error {}

/** A complete answer that has no scores, or a run that has failed. The same request gives the same answer. */
export class Unusable extends Error {}

/** Statuses of 4xx that say nothing against the request: it came too late, too early or too often. */
const PASSING = [408, 409, 429];

/** Whether a status refuses a request that is refused again when it is repeated. */
export const isRefusal = (status: number): boolean => status >= 400 && status < 500 && !PASSING.includes(status);

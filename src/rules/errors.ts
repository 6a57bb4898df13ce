/** Failures of an action. */

/** A failure that another attempt does not change. */
export class Final extends Error {}

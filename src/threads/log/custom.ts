/** Checks of the custom events that graphs write. */
type Check = (payload: unknown) => void;

const checks: Check[] = [];

/** Adds a check. It throws for an event that its readers cannot use; the node that wrote the event gets the error. */
export function checkCustom(check: Check): void {
  checks.push(check);
}

/** Throws when a check refuses the event. */
export function checkedCustom(payload: unknown): void {
  for (const check of checks) check(payload);
}

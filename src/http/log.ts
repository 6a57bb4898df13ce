import { AsyncLocalStorage } from "node:async_hooks";

/** The id of the request that this code runs for. A Durable Object runs for none. */
export const requestId = new AsyncLocalStorage<string>();

/** Logs a fault as one line of JSON, with what helps to find its cause. Never a secret. */
export function logError(error: unknown, more: Record<string, unknown> = {}): void {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  console.error(JSON.stringify({ level: "error", request_id: requestId.getStore(), ...more, message }));
}

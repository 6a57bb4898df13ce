import { AsyncLocalStorage } from "node:async_hooks";

/** The id of the request that this code runs for. A Durable Object runs for none. */
export const requestId = new AsyncLocalStorage<string>();

/** What drizzle adds to the message of a failed query: its values, up to the first line of the stack. */
const PARAMETERS = /\nparams: [\s\S]*?(?=\n {4}at [^\n]*:\d+:\d+\)?|$)/g;

/** Logs a fault as one line of JSON, with what helps to find its cause. Never a secret. */
export function logError(error: unknown, more: Record<string, unknown> = {}): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const message = text.replace(PARAMETERS, "");
  console.error(JSON.stringify({ level: "error", request_id: requestId.getStore(), ...more, message }));
}

/** The part of requests that is logged, when `REQUEST_LOG_RATE` does not say another. */
export const REQUEST_RATE = 0.05;

/** Whether to log a request. `rate`: from "0" for none to "1" for all. */
export function isRequestSampled(rate?: string): boolean {
  const part = Number(rate ?? REQUEST_RATE);
  return Math.random() < (Number.isNaN(part) ? REQUEST_RATE : part);
}

/** Logs a request as one line of JSON, by the pattern of its route: paths, queries and headers may hold secrets. */
export function logRequest(request: { method: string; route: string; status: number; ms: number }): void {
  console.log(JSON.stringify({ level: "info", request_id: requestId.getStore(), ...request }));
}

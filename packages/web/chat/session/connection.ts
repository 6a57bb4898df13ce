/** Whether the server answers: fed by the transport's callbacks and by requests without an answer, read by the status strip. */
import { useSyncExternalStore } from "react";

export interface Connection {
  /** When it was lost; undefined while all is well. Milliseconds since epoch, as are all times here. */
  lostAt?: number;
  nextTryAt?: number;
  attempt?: number;
  /** When it last reconnected after a loss that was shown. */
  backAt?: number;
}

/** A shorter loss is not shown: every end of a stream, also a clean one, is a reconnect. */
export const QUIET_MS = 2_500;

let connection: Connection = {};
const listeners = new Set<() => void>();

function set(next: Connection): void {
  connection = next;
  for (const listener of listeners) listener();
}

export function noteLost({ attempt, delayMs }: { attempt: number; delayMs: number }): void {
  set({ lostAt: connection.lostAt ?? Date.now(), attempt, nextTryAt: Date.now() + delayMs });
}

export function noteConnected(): void {
  if (connection.lostAt === undefined) return;
  set(Date.now() - connection.lostAt > QUIET_MS ? { backAt: Date.now() } : {});
}

/** Whether the connection was lost and is not back. */
export const isLost = (): boolean => connection.lostAt !== undefined;

export function forgetConnection(): void {
  set({});
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => connection);
}

/** Messages of browsers when a request had no response: Chromium, Firefox, Safari. */
const NO_ANSWER = /^(Failed to fetch|NetworkError when attempting|Load failed)/;

/** Whether a request had no response. The server may have got it. */
export const isUnanswered = (error: unknown): boolean => error instanceof Error && NO_ANSWER.test(error.message);

/** An error in words: its message, also where the message is JSON with one inside. */
export function errorText(error: unknown): string {
  const text =
    error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error, null, 2);
  if (NO_ANSWER.test(text)) return "The server did not answer.";
  try {
    const inner = JSON.parse(text) as { message?: unknown; detail?: unknown };
    const words = inner.message ?? inner.detail;
    return typeof words === "string" ? words : text;
  } catch {
    return text;
  }
}

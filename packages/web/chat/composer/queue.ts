/**
 * Messages that were written during a run, or without a connection. They are sent one after the other when the thread is settled
 * and the server answers. This tab keeps them by thread, also while another view is open and over a reload.
 */
import { useCallback, useSyncExternalStore } from "react";
import { keepInTab, onForget } from "../../ui/storage.ts";
import type { Media } from "../turn/media.ts";

export interface Queued {
  /** Also of the message on the thread. */
  id: string;
  text: string;
  media: Media[];
  /** The context that was set when the message was written. */
  context: Record<string, unknown>;
  /** The checkpoint of the branch in view, from which it continues. */
  at?: string;
}

const NONE: Queued[] = [];
const queues = new Map<string, Queued[]>();
const listeners = new Set<() => void>();

/** The key of a thread that does not exist yet. */
export const NEW = "new";

const storageKey = (threadId: string) => `weir.queue.${threadId}`;

function readQueue(threadId: string): Queued[] {
  let queue = queues.get(threadId);
  if (!queue) {
    const text = sessionStorage.getItem(storageKey(threadId));
    queue = text === null ? NONE : (JSON.parse(text) as Queued[]);
    queues.set(threadId, queue);
  }
  return queue;
}

function keep(threadId: string, queue: Queued[]): void {
  queues.set(threadId, queue);
  // A queue that the storage has no room for is not left there as it was before.
  sessionStorage.removeItem(storageKey(threadId));
  if (queue.length > 0) keepInTab(storageKey(threadId), JSON.stringify(queue));
  for (const listener of listeners) listener();
}

onForget(() => {
  queues.clear();
  for (const listener of listeners) listener();
});

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Adds a message. One that is behind others continues where they end, not at the branch that was in view. */
export function enqueue(threadId: string, { at, ...message }: Omit<Queued, "id"> & { at: string | undefined }): void {
  const before = readQueue(threadId);
  const branch = before.length === 0 && at !== undefined ? { at } : {};
  keep(threadId, [...before, { ...message, ...branch, id: crypto.randomUUID() }]);
}

/** Puts a message back in front: its start had no answer. */
export function requeue(threadId: string, message: Queued): void {
  keep(threadId, [message, ...readQueue(threadId)]);
}

/** Removes a message. Undefined where it is not in the queue, such as when it was sent. */
export function dequeue(threadId: string, id: string | undefined): Queued | undefined {
  const found = readQueue(threadId).find((one) => one.id === id);
  if (found)
    keep(
      threadId,
      readQueue(threadId).filter((one) => one !== found),
    );
  return found;
}

/** The thread exists now: what was written for it before is its own. */
export function adoptNew(threadId: string): void {
  const written = readQueue(NEW);
  if (written.length === 0) return;
  keep(threadId, [...readQueue(threadId), ...written]);
  keep(NEW, NONE);
}

export function useQueue(threadId: string): Queued[] {
  return useSyncExternalStore(
    subscribe,
    useCallback(() => readQueue(threadId), [threadId]),
  );
}

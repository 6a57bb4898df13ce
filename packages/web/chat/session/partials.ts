/** Texts of stopped runs, for this tab: no checkpoint has them. */
import { keepInTab } from "../../ui/storage.ts";
import type { Partial } from "./reducer.ts";

/** Characters that are kept of a thread. */
const MOST = 200_000;

const storageKey = (threadId: string) => `weir.stopped.${threadId}`;

export function keptPartials(threadId: string | undefined): Partial[] {
  const text = threadId && sessionStorage.getItem(storageKey(threadId));
  return text ? (JSON.parse(text) as Partial[]) : [];
}

export function keepPartials(threadId: string, partials: Partial[]): void {
  if (partials.length === 0) return;
  const text = JSON.stringify(partials);
  if (text.length <= MOST) keepInTab(storageKey(threadId), text);
}

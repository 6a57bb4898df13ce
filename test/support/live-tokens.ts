/** What a reader of a live stream got, beside what the log kept. */
import { expect } from "vitest";

interface Numbered {
  id: string;
  isToken: boolean;
  shown: unknown;
}

/**
 * The reader got everything that was kept, once and in order. What it got besides are tokens of attempts whose process
 * stopped before they were written.
 */
export function expectKept(live: Numbered[], kept: Numbered[]): void {
  const ids = new Set(kept.map(({ id }) => id));
  const seen = live.filter(({ id }) => ids.has(id));
  expect(seen.map(({ shown }) => shown)).toEqual(kept.map(({ shown }) => shown));
  expect(live.filter(({ id, isToken }) => !ids.has(id) && !isToken)).toEqual([]);
  const numbers = live.map(({ id }) => Number(id.split("|").at(-1)));
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
}

/** Frames of the classic streams. */
export const numberFrames = (frames: readonly { id?: string; event: string }[]): Numbered[] =>
  frames.map((frame) => ({ id: frame.id ?? "", isToken: frame.event.split("|")[0] === "messages", shown: frame }));

/** Events of the streaming protocol. */
export const numberEvents = (
  events: readonly { event_id: string; method: string; params: { data: object } }[],
): Numbered[] =>
  events.map((event) => ({
    id: event.event_id,
    isToken: event.method === "messages" && (event.params.data as { event?: string }).event === "content-block-delta",
    shown: event,
  }));

/** Invariants of the events of a run that a second process has resumed. */
import { expect } from "vitest";
import type { SseEvent } from "./sse.ts";

/** No task starts again after its result, and the nodes finish once each in the order of `nodes`. */
export function expectNothingTwice(events: SseEvent[], nodes: string[]): void {
  const done = new Set<string>();
  for (const { event, data } of events) {
    if (!event.startsWith("tasks")) continue;
    const task = data as { id: string; name: string; result?: unknown };
    if ("result" in task) done.add(task.id);
    else expect(done, `${task.name} ran again`).not.toContain(task.id);
  }
  const updates = events.filter(({ event }) => event === "updates").flatMap(({ data }) => Object.keys(data as object));
  expect(updates).toEqual(nodes);
}

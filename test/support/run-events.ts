/** What holds for the events of any run that an ended process has left to another. */
import { expect } from "vitest";
import type { SseEvent } from "./sse.ts";

/** No task starts again after its result, and every node of `nodes` finished once, in this order. */
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

/** When the alarm of a thread comes, by which a run is resumed whose process has stopped. */
import { expect, it, vi } from "vitest";
import { armAlarm } from "../../src/threads/alarm.ts";

it.each([
  [0, 4_000],
  [1_500, 4_000],
  [5_000, 10_000],
  [60_000, 30_000],
])("of a run that has taken %i ms, in %i ms", (age, wait) => {
  vi.spyOn(Date, "now").mockReturnValue(1_000_000);
  const setAlarm = vi.fn<(at: number) => void>();
  const context = {
    ctx: { waitUntil: () => undefined, storage: { setAlarm } },
    tables: { outbox: { nextDue: () => undefined } },
  };
  const runner = { busy: true, open: [{ status: "running", due: 0, outcome: { updated: 1_000_000 - age } }] };
  armAlarm(context as never, runner as never);
  vi.restoreAllMocks();
  expect(setAlarm).toHaveBeenCalledExactlyOnceWith(1_000_000 + wait);
});

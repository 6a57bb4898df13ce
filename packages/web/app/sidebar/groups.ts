/** The groups of the list of threads. */
import type { ThreadRow } from "../../api/types.ts";
import { waits } from "../../chat/thread-row.ts";
import { dayGroup } from "../../ui/time.ts";

interface Group {
  name: string;
  threads: ThreadRow[];
}

/** Whether a firing of a cron made the thread. Its runs are listed with the cron. */
export const isOfCron = ({ metadata }: ThreadRow): boolean => typeof metadata?.cron_id === "string";

/** Waiting threads first, then running ones, then by day. The order within a group is the order given. */
export function groupThreads(threads: ThreadRow[], now = Date.now()): Group[] {
  const groups = new Map<string, ThreadRow[]>([
    ["Waiting for you", []],
    ["Running", []],
  ]);
  for (const thread of threads) {
    const name = waits(thread)
      ? "Waiting for you"
      : thread.status === "busy"
        ? "Running"
        : dayGroup(thread.updated_at, now);
    groups.set(name, [...(groups.get(name) ?? []), thread]);
  }
  return [...groups].flatMap(([name, list]) => (list.length > 0 ? [{ name, threads: list }] : []));
}

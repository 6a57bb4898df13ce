/** The list of threads: titles and groups. */
import type { ThreadRow } from "../api/types.ts";
import { textOf } from "../chat/messages.ts";
import { dayGroup } from "../ui/time.ts";

const LONGEST = 80;

/** What the thread is called: its own title, else the first words said on it. */
export function titleOf(thread: ThreadRow): string {
  const title = thread.metadata?.title;
  if (typeof title === "string" && title.trim() !== "") return title;
  const first = textOf({ content: thread.extracted?.first }).trim();
  return first === "" ? "New conversation" : first.replaceAll(/\s+/g, " ").slice(0, LONGEST);
}

/** Whether the thread waits for a person's answer. A stopped thread is also "interrupted", but waits for no answer. */
export function waits(thread: ThreadRow): boolean {
  const asked = Object.values(thread.interrupts ?? {});
  return thread.status === "interrupted" && (!thread.interrupts || asked.some((one) => one.length > 0));
}

export interface Group {
  name: string;
  threads: ThreadRow[];
}

/** What waits first, then what runs, then by day. The order within a group is the order given. */
export function groupsOf(threads: ThreadRow[], now = Date.now()): Group[] {
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

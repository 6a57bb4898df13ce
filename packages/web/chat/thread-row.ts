/** A thread as lists have it: what it is called, and whether it waits for a person. */
import type { ThreadRow } from "../api/types.ts";
import { readText } from "./turn/messages.ts";

const LONGEST = 80;

/** A thread without a title and without a message. */
const UNTITLED = "Untitled thread";
/** A thread of which no more than the id is known. */
const UNKNOWN = "Thread";

/** The title of the thread: its own, else its first words. Never its id. */
export function threadTitle(thread: ThreadRow | undefined): string {
  if (!thread) return UNKNOWN;
  const title = thread.metadata?.title;
  if (typeof title === "string" && title.trim() !== "") return title;
  const first = readText({ content: thread.extracted?.first ?? firstMessage(thread.values) }).trim();
  return first === "" ? UNTITLED : first.replaceAll(/\s+/g, " ").slice(0, LONGEST);
}

/** The content of the first message of a state. */
function firstMessage(values: ThreadRow["values"]): unknown {
  const messages = values?.messages;
  const [first] = Array.isArray(messages) ? (messages as unknown[]) : [];
  return (first as { content?: unknown } | null | undefined)?.content;
}

/** The tooltip of a title. The id tells apart threads of one title. */
export const threadTip = (title: string, threadId: string): string => `${title} · ${threadId}`;

/** Whether the thread waits for a person's answer. A stopped thread is also "interrupted", but waits for no answer. */
export function waits(thread: ThreadRow): boolean {
  const asked = Object.values(thread.interrupts ?? {});
  return thread.status === "interrupted" && (!thread.interrupts || asked.some((one) => one.length > 0));
}

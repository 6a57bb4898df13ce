/** The title of a conversation: how it begins. */
import type { ThreadContext } from "./context.ts";

interface Message {
  type?: string;
  role?: string;
  content?: unknown;
}

const LENGTH = 80;

/** The beginning of the first thing that a person says in a state's or an input's messages. */
export function titleIn(state: unknown): string | undefined {
  const given = (state as { messages?: unknown } | null | undefined)?.messages;
  const messages = (Array.isArray(given) ? given : given === undefined ? [] : [given]) as (Message | string)[];
  for (const message of messages) {
    const text = typeof message === "string" ? message : isHuman(message) ? readText(message?.content) : "";
    const line = text.trim().replaceAll(/\s+/g, " ");
    if (line) return Array.from(line).slice(0, LENGTH).join("");
  }
  return undefined;
}

const isHuman = (message: Message | null): boolean =>
  message?.type === "human" || message?.role === "user" || message?.role === "human";

function readText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join(" ");
}

/** The title of a thread: from the state's first messages, or from what the first run was given while there is no state. */
export function readTitle({ record, values }: ThreadContext, input: unknown): string | undefined {
  const messages = record?.values?.messages;
  if (!messages) return titleIn(input);
  // The beginning of a list is in its first chunk, so the rest of a long thread is not read.
  const first = "l" in messages ? { l: messages.l.slice(0, 1) } : messages;
  return titleIn({ messages: JSON.parse(values.flat(first)) as Message[] });
}

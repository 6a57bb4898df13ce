/** What a conversation is called. */
import { type Message, titleIn } from "./naming.ts";
import type { ThreadContext } from "./context.ts";

/** From the state's first messages, or from what the first run was given while there is no state. */
export function titleOf({ record, values }: ThreadContext, input: unknown): string | undefined {
  const messages = record?.values?.messages;
  if (!messages) return titleIn(input);
  // The beginning of a list is in its first chunk, so the rest of a long thread is not read.
  const first = "l" in messages ? { l: messages.l.slice(0, 1) } : messages;
  return titleIn({ messages: JSON.parse(values.flat(first)) as Message[] });
}

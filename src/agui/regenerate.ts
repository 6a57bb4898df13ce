/** Answers that a client wants again: it sends the conversation up to a message that the thread has answered already. */
import { isObject } from "../lib/json.ts";
import { Problem } from "../lib/problem.ts";
import { readStates } from "../threads/remote.ts";
import type { ThreadRpc } from "../threads/rpc.ts";
import type { Message, RunAgentInput } from "../protocols/agui/schema.ts";

export interface Regeneration {
  /** What is answered again, as the client has it now. */
  message: Message;
  /** The thread's messages before it. */
  kept: unknown[];
}

const readId = (message: unknown): unknown => (isObject(message) ? message.id : undefined);

/** The message to answer again, among the `known` ones of the thread; undefined when the client continues. */
export function findRegeneration({ messages }: RunAgentInput, known: unknown): Regeneration | undefined {
  if (!Array.isArray(known)) return undefined;
  const ids = known.map(readId);
  const message = messages.findLast(({ role }) => ["user", "assistant", "tool"].includes(role));
  // CopilotKit gives results of tools ids of its own.
  const spoken = messages.filter(({ role }) => role === "user" || role === "assistant");
  if (message?.role !== "user" || !spoken.every(({ id }) => ids.includes(id))) return undefined;
  const place = ids.indexOf(message.id);
  const isAnswered = known.slice(place + 1).some((one) => isObject(one) && one.type !== "system");
  return isAnswered ? { message, kept: known.slice(0, place) } : undefined;
}

/** How many checkpoints are looked through, newest first. */
const DEPTH = 1000;

/**
 * The newest checkpoint on the way to the thread's state that does not have the message: the run begins there, so that the
 * other keys of the state are as they were, too. @throws Problem 409 when the thread has none.
 */
export async function checkpointBefore(thread: ThreadRpc, { message }: Regeneration): Promise<string> {
  let next: unknown;
  for await (const state of readStates(await thread.history({ limit: DEPTH }))) {
    const id = state.checkpoint?.checkpoint_id;
    // Checkpoints of other branches are in the history, too.
    if (next !== undefined && id !== next) continue;
    const { messages } = (state.values ?? {}) as { messages?: unknown };
    const has = Array.isArray(messages) && messages.some((one) => readId(one) === message.id);
    if (!has && typeof id === "string") return id;
    next = state.parent_checkpoint?.checkpoint_id ?? null;
  }
  throw new Problem(409, "The thread has no checkpoint before this message, so it cannot be answered again.");
}

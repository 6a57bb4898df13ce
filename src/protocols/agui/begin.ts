/**
 * What a client's request asks of its thread. Clients send their whole conversation and state, some of it late or half: what the thread
 * has counts, and what is new or changed is the request. This is decided when the run begins, from the state that it begins on.
 */
import { readChannels } from "../../agents/assistants/describe.ts";
import { sha256 } from "../../lib/crypto.ts";
import { type Json, isObject } from "../../lib/json.ts";
import type { ReadKey, ReadRequest, SeenByClient, SentReader, ThreadAtBegin } from "../../threads/runs/sent.ts";
import { Conversation } from "./conversation.ts";
import { isEqual } from "./events.ts";
import { graphMessage } from "./messages.ts";
import type { RunAgentInput } from "./schema.ts";

export const PROTOCOL = "ag-ui";

/** The members of a request that a run's input is made of. */
export type AguiBody = Pick<RunAgentInput, "messages" | "state" | "tools" | "context">;

/** Keys of which the request's tools become a part. */
const isMerged = (name: string) => name === "tools" || name === "copilotkit";

/** The part of it that a run's request carries. */
export const sentBody = ({ messages, state, tools, context }: RunAgentInput): Json => ({
  messages,
  state: isObject(state) ? state : {},
  tools,
  context,
});

export const aguiReader: SentReader = {
  accept(body, seen) {
    const given = body as unknown as AguiBody;
    const conversation = new Conversation(given.messages, seen.latest("messages"));
    const { asked } = conversation;
    const asks = asked.length > 0 ? sha256(JSON.stringify(asked.map(({ id, content }) => [id, content]))) : undefined;
    return { body: { ...body, state: editedState(given, seen, conversation.isBehind) }, asks };
  },

  async begin(body, thread) {
    const given = body as unknown as AguiBody;
    const { assistant, command, graph_id } = thread.request;
    const { config, context } = assistant as { config: Json; context: Json };
    const channels = await readChannels({ graph_id, config, context }, thread.env);
    return planRun(given, thread, (name) => channels === undefined || channels.has(name), command);
  },
};

/**
 * The members that the client has changed: those that the thread's state does not have so. A client that has not followed the last run to
 * its end may still have the values which that run has shown; they are no change.
 */
function editedState({ state }: AguiBody, seen: SeenByClient, isBehind: boolean): Json {
  const { messages: _messages, ...given } = state as Json;
  const differs = ([name, value]: [string, unknown], read: ReadKey) => !isEqual(read(name), value);
  let left = Object.entries(given).filter((one) => isMerged(one[0]) || differs(one, seen.latest));
  if (isBehind || seen.busy)
    for (const read of seen.states()) {
      if (left.every(([name]) => isMerged(name))) break;
      left = left.filter((one) => isMerged(one[0]) || differs(one, read));
    }
  return Object.fromEntries(left);
}

/** The run of a request on the thread as it is. `has`: whether the graph's state has a key. */
export async function planRun(
  body: AguiBody,
  thread: Omit<ThreadAtBegin, "env" | "request">,
  has: (name: string) => boolean,
  command?: ThreadAtBegin["request"]["command"],
): Promise<ReadRequest> {
  const { values } = thread;
  const update = changedValues(body, values, has);
  const withMessages = (messages: Json[]) => ({ ...update, ...(messages.length > 0 && { messages }) });
  const conversation = new Conversation(body.messages, values.messages);
  if (command)
    return { command: { ...command, update: has("messages") ? withMessages(conversation.fresh()) : update } };
  if (!has("messages")) return { input: update };
  // Graphs spread the messages, and fail when they are not there.
  const begin = (messages: Json[], checkpoint_id?: string): ReadRequest => ({
    input: { messages: [], ...withMessages(messages) },
    ...(checkpoint_id !== undefined && { checkpoint: { checkpoint_id } }),
  });
  const edit = await findEdit(conversation, thread);
  if (edit) return begin(conversation.from(edit.message), edit.checkpointId);
  const { isNew, isAnswered, last, lastAsked } = conversation;
  if (isNew || !last) return begin(conversation.fresh());
  if (lastAsked && isAskedAgain(conversation, thread)) {
    const before = await checkpointBefore(thread, lastAsked.id);
    if (before === undefined && isAnswered) throw withoutCheckpoint();
    return begin([...conversation.instructions(), graphMessage(lastAsked) as Json], before);
  }
  const isEdited = Object.keys(body.state as Json).some((name) => name in update && !isMerged(name));
  return isEdited ? begin(conversation.fresh()) : undefined;
}

/**
 * Whether a client that says nothing new wants an answer: again, when its conversation ends with the person's message; else because the
 * thread has no whole one. An interrupt that waits is a part of the answer.
 */
function isAskedAgain({ last, isAnswered }: Conversation, { left }: Pick<ThreadAtBegin, "left">): boolean {
  if (isAnswered && last?.role === "user") return true;
  return left === "failed" || left === "stopped" || (left === "done" && !isAnswered);
}

const withoutCheckpoint = () =>
  Object.assign(new Error("The thread has no checkpoint before this message, so it cannot be answered again."), {
    name: "NoCheckpoint",
  });

const messagesAt = (values: unknown): Json[] => {
  const { messages } = (values ?? {}) as { messages?: unknown };
  return Array.isArray(messages) ? messages.filter(isObject) : [];
};

type Past = Pick<ThreadAtBegin, "past">;

/** The newest checkpoint that does not have the message: the other keys of its state are as they were, too. */
async function checkpointBefore({ past }: Past, id: string): Promise<string | undefined> {
  for await (const { checkpointId, values } of past())
    if (!messagesAt(values).some((one) => one.id === id)) return checkpointId;
  return undefined;
}

/**
 * The first message of a person that the client has changed, with the newest checkpoint that does not have it. A graph may rewrite
 * messages itself: a client that has what an earlier state had has changed nothing.
 */
async function findEdit(conversation: Conversation, { past }: Past) {
  const { changed } = conversation;
  if (changed.length === 0) return undefined;
  const unchanged = new Set<string>();
  const before = new Map<string, string>();
  for await (const { checkpointId, values } of past()) {
    const there = new Map(messagesAt(values).map((one) => [one.id, one]));
    for (const message of changed) {
      const known = there.get(message.id);
      if (!known) before.set(message.id, before.get(message.id) ?? checkpointId);
      else if (!before.has(message.id) && Conversation.isSame(message, known)) unchanged.add(message.id);
    }
    if (changed.every(({ id }) => unchanged.has(id) || before.has(id))) break;
  }
  const message = changed.find(({ id }) => !unchanged.has(id));
  if (!message) return undefined;
  const checkpointId = before.get(message.id);
  if (checkpointId === undefined && conversation.isFollowed(message)) throw withoutCheckpoint();
  return { message, checkpointId };
}

/** The tools as models take them, each name once: graphs bind what their state has. */
function modelTools(tools: unknown[]): Json[] {
  const byName = new Map<unknown, Json>();
  for (const tool of tools.filter(isObject)) {
    const { name, description, parameters } = tool;
    if (byName.has(name)) continue;
    const own = { type: "function", name, function: { name, description, parameters } };
    byName.set(name, tool.type === undefined ? own : tool);
  }
  return [...byName.values()];
}

/** A reducer would add what the state has a second time, so only what differs is an update. */
function changedValues(body: AguiBody, values: Json, has: (name: string) => boolean): Json {
  const state = body.state as Json;
  const tools = modelTools([...body.tools, ...(Array.isArray(state.tools) ? (state.tools as unknown[]) : [])]);
  const copilotkit = { ...(isObject(state.copilotkit) ? state.copilotkit : {}), actions: tools };
  // As `@ag-ui/langgraph` gives them to graphs whose state has these keys.
  const given = { ...state, tools, "ag-ui": { tools, context: body.context }, copilotkit };
  const differs = ([name, value]: [string, unknown]) =>
    name !== "messages" && has(name) && !isEqual(values[name], value);
  return Object.fromEntries(Object.entries(given).filter(differs));
}

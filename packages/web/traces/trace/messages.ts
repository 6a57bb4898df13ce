/** Messages in a run's inputs and outputs, in all dialects. */
import { readText } from "../../chat/turn/messages.ts";
import { type MessageRole, readRole } from "../../../../src/agents/prompts/role.ts";

export interface ReadMessage {
  /** In a word: "User". */
  role: string;
  text: string;
  calls: { name: string; args: string }[];
}

type Raw = Record<string, unknown>;

const isRaw = (value: unknown): value is Raw => typeof value === "object" && value !== null && !Array.isArray(value);

/** The messages of inputs or outputs; undefined where they are no conversation. */
export function messagesIn(value: unknown): ReadMessage[] | undefined {
  if (!isRaw(value)) return undefined;
  const list = listIn(value);
  const said = list?.map(readMessage);
  return said && said.length > 0 && said.every((one) => one !== undefined) ? said : undefined;
}

function listIn(value: Raw): unknown[] | undefined {
  const { messages, message, output, choices, generations } = value;
  // A model is called with a batch of conversations, and answers with a batch of generations.
  if (Array.isArray(messages)) return Array.isArray(messages[0]) && isRaw(messages[0][0]) ? messages[0] : messages;
  if (Array.isArray(generations)) return (generations as unknown[]).flat().map((one) => isRaw(one) && one.message);
  if (Array.isArray(choices)) return (choices as unknown[]).map((one) => isRaw(one) && one.message);
  if (isRaw(message)) return [message];
  if (Array.isArray(output)) return output;
  return isRaw(output) || "content" in value ? [output ?? value] : undefined;
}

export function readMessage(raw: unknown): ReadMessage | undefined {
  if (Array.isArray(raw) && raw.length === 2 && typeof raw[0] === "string" && typeof raw[1] === "string")
    return { role: roleText(raw[0]), text: raw[1], calls: [] };
  if (!isRaw(raw)) return undefined;
  // LangChain's own form: {lc: 1, id: [..., "HumanMessage"], kwargs: {...}}.
  const name = Array.isArray(raw.id) ? (raw.id as unknown[]).at(-1) : undefined;
  const fields = isRaw(raw.kwargs) ? raw.kwargs : raw;
  const role = typeof name === "string" ? name : (raw.role ?? raw.type);
  if (typeof role !== "string" || !("content" in fields)) return undefined;
  const given = Array.isArray(fields.tool_calls) ? (fields.tool_calls as unknown[]).filter(isRaw) : [];
  return { role: roleText(role), text: readText({ content: fields.content }), calls: given.map(readCall) };
}

function readCall(call: Raw): { name: string; args: string } {
  const { name, args, arguments: text } = isRaw(call.function) ? call.function : call;
  return { name: String(name), args: typeof text === "string" ? text : JSON.stringify(args, null, 2) };
}

/** Roles of messages as the page names them: one word each, whatever the dialect of the message. */
export const ROLES: Record<MessageRole, string> = { system: "System", human: "User", ai: "Assistant", tool: "Tool" };

/** "User" for `human`, `user` and `HumanMessage`. A name that is no role is shown as it is. */
export function roleText(name: string): string {
  const role = readRole(name);
  return role === undefined ? name : ROLES[role];
}

const CLIP = 300;

/** A body in a line: the last message of a conversation, the only text of an object, else its JSON. */
export function briefly(body: unknown, most = CLIP): string {
  if (body === null || body === undefined) return "";
  const said = messagesIn(body)?.at(-1)?.text;
  const only = typeof body === "object" ? Object.values(body) : [body];
  const text = said ?? (only.length === 1 && typeof only[0] === "string" ? only[0] : JSON.stringify(body));
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

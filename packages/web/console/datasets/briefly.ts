import { messagesIn } from "../../traces/trace/messages.ts";

const CLIP = 300;

/** A body in a line: the last message of a conversation, the only text of an object, else its JSON. */
export function briefly(body: unknown, most = CLIP): string {
  if (body === null || body === undefined) return "";
  const said = messagesIn(body)?.at(-1)?.text;
  const only = typeof body === "object" ? Object.values(body) : [body];
  const text = said ?? (only.length === 1 && typeof only[0] === "string" ? only[0] : JSON.stringify(body));
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

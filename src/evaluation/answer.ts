/** The answer in the inputs or outputs of a run: what evaluators compare. Also for the page, so without the server's code. */

type Members = Record<string, unknown>;

export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The text of the last message; undefined where the value is no conversation. */
export function answerIn(value: unknown): string | undefined {
  const messages = isMembers(value) ? value["messages"] : undefined;
  if (!Array.isArray(messages)) return undefined;
  const last: unknown = messages.at(-1);
  if (!isMembers(last)) return undefined;
  // LangChain's own form keeps the fields of a message in `kwargs`, and stored messages in `data`.
  const fields = [last["kwargs"], last["data"]].find(isMembers) ?? last;
  const content = fields["content"];
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content.filter(isMembers) : [];
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}

/** The answer as text: of a conversation its last message, the only text of an object, else its JSON. */
export function textIn(value: unknown): string {
  const answer = answerIn(value);
  if (answer !== undefined) return answer;
  const [only, ...others] = isMembers(value) ? Object.values(value) : [value];
  return typeof only === "string" && others.length === 0 ? only : (JSON.stringify(value) ?? "");
}

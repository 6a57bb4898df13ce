/** The expected output of an example: the text of an answer where the output is a conversation, else JSON. */

type Members = Record<string, unknown>;

export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Bodies of examples are objects. Another value becomes a member, as in the SDKs. */
export const asMembers = (value: unknown, name: string): Members => (isMembers(value) ? value : { [name]: value });

/** The text of the last message; undefined where the output is no conversation. */
export function answerIn(outputs: unknown): string | undefined {
  const messages = isMembers(outputs) ? outputs.messages : undefined;
  if (!Array.isArray(messages)) return undefined;
  const last: unknown = messages.at(-1);
  if (!isMembers(last)) return undefined;
  // LangChain's own form keeps the fields of a message in `kwargs`, and stored messages in `data`.
  const { content } = isMembers(last.kwargs) ? last.kwargs : isMembers(last.data) ? last.data : last;
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content.filter(isMembers) : [];
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}

/** The output of an example whose answer should be this text. */
export const answering = (text: string): Members => ({ messages: [{ role: "assistant", content: text }] });

/** The JSON object of a text, or what is wrong with it. An empty text is none. */
export function membersFrom(text: string): { value?: Members; error?: string } {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isMembers(value) ? { value } : { error: "Expected a JSON object." };
  } catch (error) {
    return { error: error instanceof Error ? error.message : "Not JSON." };
  }
}

/** The expected output of an example: the text of an answer where the output is a conversation, else JSON. */

import { isMembers } from "../../../../src/agents/evaluation/evaluators.ts";

type Members = Record<string, unknown>;

/** Bodies of examples are objects. Another value becomes a member, as in the SDKs. */
export const asMembers = (value: unknown, name: string): Members => (isMembers(value) ? value : { [name]: value });

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

/** What the offline model says to a conversation: the results of its tools, new tool calls, or an honest answer. */
import { isAIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { type Call, rules } from "./rules.ts";

export interface Reply {
  text: string;
  calls: Call[];
}

const SIGNATURE =
  "(This is Weir's built-in offline model: it follows fixed rules. Set OPENAI_API_KEY to use a real one.)";

/** The reply to `messages` from a model that may call the tools named. The same conversation gets the same reply. */
export function reply(messages: BaseMessage[], toolNames: string[]): Reply {
  const results = resultsAtEnd(messages);
  if (results.length > 0) return { text: `${results.join(" ")} ${SIGNATURE}`, calls: [] };
  const asked = messages.findLast((message) => message.type === "human")?.text.trim() ?? "";
  const count = /\bcount (?:up )?to (\d+)/i.exec(asked);
  if (count) return { text: numbers(Math.min(Number(count[1]), 10_000)), calls: [] };
  const calls = rules.filter((rule) => toolNames.includes(rule.tool)).flatMap((rule) => rule.calls(asked));
  if (calls.length > 0) return { text: "Let me see to that.", calls };
  return { text: `${general(asked, messages, toolNames)} ${SIGNATURE}`, calls: [] };
}

/** A sentence for each tool result after the model's last message. */
function resultsAtEnd(messages: BaseMessage[]): string[] {
  const spoke = messages.findLastIndex((message) => isAIMessage(message));
  const said = messages[spoke];
  if (!said || !isAIMessage(said)) return [];
  return messages.slice(spoke + 1).flatMap((message) => {
    if (message.type !== "tool") return [];
    const { tool_call_id, status, name } = message as ToolMessage;
    const call = said.tool_calls?.find(({ id }) => id === tool_call_id);
    if (status === "error") return [`The tool ${name ?? call?.name ?? ""} did not do it: ${message.text.trim()}`];
    return [rules.find(({ tool }) => tool === call?.name)?.report(call?.args ?? {}, message.text) ?? message.text];
  });
}

function numbers(last: number): string {
  return Array.from({ length: last }, (_, index) => index + 1).join(" ");
}

function general(asked: string, messages: BaseMessage[], toolNames: string[]): string {
  const turn = messages.filter((message) => message.type === "human").length;
  const instructions = messages.find((message) => message.type === "system")?.text;
  const abilities = rules.filter(({ tool }) => toolNames.includes(tool)).map(({ ability }) => ability);
  return [
    /^\W*(hi|hello|hey|good (morning|day|evening))\b/i.test(asked) ? "Hello!" : "",
    asked ? `You said: "${short(asked)}" That was message ${turn} of this conversation.` : "You said nothing yet.",
    instructions ? `My instructions are: "${short(instructions)}"` : "",
    `I can ${[...abilities, 'count (try "count to 20")'].join(", or ")}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function short(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

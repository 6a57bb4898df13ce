/** Roles of messages in the dialects of OpenAI and LangChain. The page uses them, too. */

export type MessageRole = "system" | "human" | "ai" | "tool";

const ROLES: Record<string, MessageRole> = {
  system: "system",
  developer: "system",
  human: "human",
  user: "human",
  ai: "ai",
  assistant: "ai",
  tool: "tool",
  function: "tool",
};

/** The role of a name such as `assistant`, `human` or `AIMessageChunk`; undefined where it names none. */
export const readRole = (name: unknown): MessageRole | undefined =>
  typeof name === "string" ? ROLES[name.toLowerCase().replace(/message(chunk)?$/, "")] : undefined;

/** Roles of messages as the page names them: one word each, whatever the dialect of the message. */
import { type MessageRole, readRole } from "../../../src/agents/prompts/template.ts";

export const ROLES: Record<MessageRole, string> = { system: "System", human: "User", ai: "Assistant", tool: "Tool" };

/** "User" for `human`, `user` and `HumanMessage`. A name that is no role is shown as it is. */
export function roleText(name: string): string {
  const role = readRole(name);
  return role === undefined ? name : ROLES[role];
}

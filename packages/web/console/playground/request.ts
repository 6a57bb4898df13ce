/** From what is typed to a call. Each fault is a sentence. */
import {
  fillMessages,
  type TemplateMessage,
  type TemplateVariables,
  variablesIn,
} from "../../../../src/agents/prompts/template.ts";
import type { Column, Play } from "./play.ts";

/** The settings that have a field. */
export const FIELDS: [name: string, label: string, placeholder: string][] = [
  ["temperature", "Temperature", "0 to 2"],
  ["max_tokens", "Max tokens", "No limit"],
  ["top_p", "Top p", "0 to 1"],
];

/** The values of the variables that the messages use. @throws Error */
function readVariables({ messages, format, variables }: Play): TemplateVariables {
  const named = variablesIn(messages, format);
  return Object.fromEntries(
    named.map(({ name, data }) => {
      const text = variables[name] ?? "";
      if (!data || text === "") return [name, text];
      return [name, parsed(text, `The variable ${name} must be JSON`)];
    }),
  );
}

/** The tools as they are sent. @throws Error */
export function parseTools({ tools }: Pick<Play, "tools">): Record<string, unknown>[] {
  if (tools.trim() === "") return [];
  const list = parsed(tools, "The tools must be JSON");
  if (!Array.isArray(list)) throw new Error("The tools must be a list.");
  return list as Record<string, unknown>[];
}

/** @throws Error */
export function mergeSettings({ settings, more }: Column): Record<string, unknown> {
  const typed = Object.entries(settings).filter(([, text]) => text.trim() !== "");
  const numbers = typed.map(([name, text]): [string, number] => {
    const value = Number(text);
    if (Number.isNaN(value)) throw new Error(`${FIELDS.find(([one]) => one === name)?.[1] ?? name} must be a number.`);
    return [name, value];
  });
  const rest = more.trim() === "" ? {} : parsed(more, "Further settings must be JSON");
  if (typeof rest !== "object" || rest === null || Array.isArray(rest))
    throw new Error("Further settings must be an object.");
  return { ...rest, ...Object.fromEntries(numbers) };
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${what}.`);
  }
}

/** The messages of the page without what only the page needs. Empty ones are left out. */
export const sentMessages = ({ messages }: Pick<Play, "messages">): TemplateMessage[] =>
  messages
    .filter(({ content, tool_calls }) => content.length > 0 || (tool_calls?.length ?? 0) > 0)
    .map(({ role, content, tool_calls, tool_call_id }) => ({
      role,
      content,
      ...(role === "ai" && tool_calls && { tool_calls }),
      ...(role === "tool" && { tool_call_id }),
    }));

/** The body for `/api/v1/playground/stream`. @throws Error */
export function buildCall(play: Play, column: Column, key: string): object {
  const { provider, model, baseUrl } = column;
  const tools = parseTools(play);
  return {
    model: {
      provider,
      ...(provider !== "offline" && { model: model.trim() }),
      ...(provider === "openai" && baseUrl.trim() !== "" && { base_url: baseUrl.trim() }),
      ...(provider === "openai" && key !== "" && { api_key: key }),
    },
    settings: mergeSettings(column),
    messages: sentMessages(play),
    template_format: play.format,
    variables: readVariables(play),
    ...(tools.length > 0 && { tools }),
  };
}

/** The input of an assistant: the messages with their variables, in LangChain's form. @throws Error */
export function buildInput(play: Play): { messages: object[] } {
  const filled = fillMessages(sentMessages(play), play.format, readVariables(play), (one) => one as TemplateMessage);
  return { messages: filled.map(({ role, ...message }) => ({ type: role, ...message })) };
}

/** A commit of a prompt in the playground, and the messages of the playground as a prompt. */
import type { ChatPrompt } from "../../../../src/agents/prompts/chat-manifest.ts";
import { type Column, newColumn, newId, type Play } from "./play.ts";
import { FIELDS, sentMessages, mergeSettings, parseTools } from "./request.ts";

export function playFromPrompt(
  { messages, format, tools, model }: ChatPrompt,
  { name, hash }: { name: string; hash: string },
): Play {
  return {
    messages: messages.map((message) => ({ ...message, id: newId() })),
    format,
    variables: {},
    tools: tools.length === 0 ? "" : JSON.stringify(tools, null, 2),
    columns: [createColumn(model?.settings ?? {})],
    from: { kind: "prompt", name, hash },
  };
}

function createColumn(settings: Record<string, unknown>): Column {
  const model = settings["model"] ?? settings["model_name"];
  if (typeof model !== "string") return newColumn();
  const typed = FIELDS.flatMap(([name]) => {
    const value = settings[name];
    return typeof value === "number" ? [[name, String(value)] as const] : [];
  });
  const isOffline = model === "weir-offline";
  return newColumn({
    provider: isOffline ? "offline" : model.startsWith("@cf/") ? "workers-ai" : "openai",
    model,
    settings: Object.fromEntries(typed),
  });
}

/** With the model and the tools of `column`, where one is given. @throws Error, TemplateFault */
export function toPrompt(play: Play, column: Column | undefined): ChatPrompt {
  const prompt = { messages: sentMessages(play), format: play.format };
  if (!column) return { ...prompt, tools: [] };
  const settings = { model: column.model, ...mergeSettings(column) };
  return { ...prompt, tools: parseTools(play), model: { provider: "ChatOpenAI", settings } };
}

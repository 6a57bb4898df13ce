/** From a request to the messages that the model gets: those of the request, or of a prompt's commit, with the variables. */
import { type TemplateMessage, fillMessages, TemplateFault } from "../../agents/prompts/template.ts";
import { type CallBody, CALL_BYTES, PromptMessage, MAX_MESSAGES } from "./schema.ts";
import type { Context } from "hono";
import { requirePermission } from "../../access/auth/roles.ts";
import { withRing } from "../../access/encryption/keys.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { parse } from "../../http/validate.ts";
import { existingCommit, existingPrompt, OWN } from "../../agents/prompts/commit.ts";
import { type ChatPrompt, readPrompt } from "../../agents/prompts/chat-manifest.ts";
import { openManifest } from "../../agents/prompts/row.ts";
import { withinBytes } from "../../lib/bytes.ts";

// A call in the form of OpenAI's chat completions.

const ROLES = { system: "system", human: "user", ai: "assistant", tool: "tool", placeholder: "user" };

export interface FilledCall {
  messages: TemplateMessage[];
  tools: NonNullable<CallBody["tools"]>;
  settings: Record<string, unknown>;
}

export function requestBody(model: string, { messages, tools, settings }: FilledCall): object {
  return {
    model,
    ...settings,
    messages: messages.map(openAiMessage),
    ...(tools.length > 0 && { tools }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** The same message in OpenAI's form; of the trace, too. */
export function openAiMessage({ role, content, tool_calls = [], tool_call_id }: TemplateMessage) {
  return {
    role: ROLES[role],
    content,
    ...(tool_calls.length > 0 && {
      tool_calls: tool_calls.map(({ id, name, args }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
    }),
    ...(role === "tool" && { tool_call_id }),
  };
}

export interface Filled {
  call: FilledCall;
  prompt?: { name: string; hash: string };
}

/** @throws Problem 404 for a prompt that is not there, 422 for a template that cannot be filled. */
export async function fillCall(c: Context<App>, given: CallBody): Promise<Filled> {
  const { settings = {}, variables = {}, tools = [] } = given;
  const { prompt, template } = given.prompt
    ? await findCommitted(c, given.prompt.name, given.prompt.commit ?? "latest")
    : { template: { messages: given.messages ?? [], format: given.template_format ?? "none", tools: [] } };
  const messages = fill(template, variables);
  if (messages.length === 0) throw new Problem(422, "Invalid body.messages: there is no message to send.");
  if (messages.length > MAX_MESSAGES)
    throw new Problem(422, `Invalid body.messages: must be at most ${MAX_MESSAGES} with those of placeholders.`);
  withinBytes(messages, CALL_BYTES, "messages with their variables");
  // The tools of the request replace those of the prompt.
  const own = tools.length > 0 ? tools : (template.tools as typeof tools);
  const call = { messages, tools: own, settings: Object.fromEntries(Object.entries(settings).filter(isGiven)) };
  return { call, ...(prompt && { prompt }) };
}

const isGiven = ([, value]: [string, unknown]) => value !== undefined;

async function findCommitted(c: Context<App>, name: string, word: string) {
  requirePermission(c.get("principal"), "prompts.read");
  const row = await existingPrompt(c, { owner: OWN, repo: name });
  const commit = await existingCommit(c, row, word);
  const manifest = await withRing(c.env, row.workspaceId, (ring) => openManifest(ring, commit));
  const template = readPrompt(manifest);
  if (!template) throw new Problem(422, `Invalid body.prompt: ${name} is no chat prompt.`);
  return { template, prompt: { name, hash: commit.hash } };
}

function fill({ messages, format }: ChatPrompt, variables: Record<string, unknown>): TemplateMessage[] {
  try {
    return fillMessages(messages, format, variables, (one, name) =>
      parse(PromptMessage, one, `body.variables.${name}`),
    );
  } catch (error) {
    if (error instanceof TemplateFault) throw new Problem(422, `Invalid body.variables: ${error.message}`);
    throw error;
  }
}

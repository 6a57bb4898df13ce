/** Prompts of assistants: what `metadata.mcp.prompts` of an assistant says, with the arguments in the place of `{{name}}`. */
import { type GetPromptResult, type Prompt, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import * as v from "valibot";
import type { Assistant } from "../../agents/assistants/store.ts";
import { database } from "../../db/client.ts";
import type { UserFilter } from "../../access/users/handlers.ts";
import { assistantsFrom, PAGE } from "./tools.ts";
import { WorkBudget } from "../../lib/work-budget.ts";

const name = v.pipe(v.string(), v.regex(/^[\w-]{1,50}$/));
const text = v.pipe(v.string(), v.maxLength(10_000));

const StoredPrompt = v.object({
  name,
  title: v.optional(text),
  description: v.optional(text),
  arguments: v.optional(
    v.pipe(
      v.array(v.object({ name, description: v.optional(text), required: v.optional(v.boolean(), false) })),
      v.maxLength(50),
    ),
    [],
  ),
  messages: v.pipe(
    v.array(v.object({ role: v.picklist(["user", "assistant"]), content: text })),
    v.minLength(1),
    v.maxLength(50),
  ),
});
type StoredPrompt = v.InferOutput<typeof StoredPrompt>;

const Metadata = v.object({ mcp: v.object({ prompts: v.array(v.unknown()) }) });

/** The prompts of one page of assistants, and whether more assistants follow; `metadata` narrows. */
export async function listPrompts(
  env: Env,
  workspaceId: string,
  offset: number,
  metadata: UserFilter,
): Promise<{ prompts: Prompt[]; more: boolean }> {
  const rows = await assistantsFrom(database(env.DB), workspaceId, offset, metadata);
  const prompts = rows.slice(0, PAGE).flatMap((assistant) =>
    promptsIn(assistant).map(({ name: own, title, description, arguments: accepted }) => ({
      name: promptName(assistant, own),
      title,
      description,
      arguments: accepted,
    })),
  );
  return { prompts, more: rows.length > PAGE };
}

/** @throws ProtocolError for a prompt that is not there, and for arguments that are missing */
export async function readPrompt(
  env: Env,
  workspaceId: string,
  asked: { name: string; arguments?: Record<string, string> },
  metadata: UserFilter,
): Promise<GetPromptResult> {
  const prompt = await find(env, workspaceId, asked.name, metadata);
  if (!prompt) throw invalid("Unknown prompt. List the prompts for their names.");
  const given = asked.arguments ?? {};
  const missing = prompt.arguments.filter((one) => one.required && !Object.hasOwn(given, one.name));
  if (missing.length > 0) throw invalid(`Missing arguments: ${missing.map((one) => one.name).join(", ")}.`);
  const known = new Set(prompt.arguments.map((one) => one.name));
  const budget = new WorkBudget("The prompt with its arguments", "Give shorter arguments.");
  const filled = (content: string) => {
    budget.write(content.length);
    return content.replaceAll(/\{\{\s*([\w-]+)\s*\}\}/g, (all, argument: string) => {
      if (!known.has(argument)) return all;
      const value = Object.hasOwn(given, argument) ? (given[argument] ?? "") : "";
      budget.write(value.length);
      return value;
    });
  };
  return {
    ...(prompt.description !== undefined && { description: prompt.description }),
    messages: prompt.messages.map(({ role, content }) => ({ role, content: { type: "text", text: filled(content) } })),
  };
}

async function find(
  env: Env,
  workspaceId: string,
  wanted: string,
  metadata: UserFilter,
): Promise<StoredPrompt | undefined> {
  for (let offset = 0; ; offset += PAGE) {
    const rows = await assistantsFrom(database(env.DB), workspaceId, offset, metadata);
    for (const assistant of rows.slice(0, PAGE)) {
      const found = promptsIn(assistant).find((prompt) => promptName(assistant, prompt.name) === wanted);
      if (found) return found;
    }
    if (rows.length <= PAGE) return undefined;
  }
}

/** A prompt's name and the beginning of its assistant's id, for names may repeat. */
const promptName = ({ assistant_id }: Assistant, prompt: string): string => `${prompt}-${assistant_id.slice(0, 8)}`;

/** Metadata are the client's own: what is no prompt in them is left out. */
function promptsIn({ metadata }: Assistant): StoredPrompt[] {
  const stored = v.safeParse(Metadata, metadata);
  if (!stored.success) return [];
  return stored.output.mcp.prompts.flatMap((one) => {
    const prompt = v.safeParse(StoredPrompt, one);
    return prompt.success ? [prompt.output] : [];
  });
}

const invalid = (message: string): ProtocolError => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** Each assistant of a workspace as a tool: its graph's input schema in, its answer out; and the tool that answers interrupts. */
import type { CallToolResult, ContentBlock, Tool } from "@modelcontextprotocol/server";
import { toPart } from "../a2a/types.ts";
import { isObject, type Json } from "../../lib/json.ts";
import { findSchemaBreach, findSchemaFault } from "../../lib/json-schema.ts";
import { tryWithin, WorkBudget } from "../../lib/work-budget.ts";
import * as v from "valibot";
import { isDefaultAssistant } from "../../agents/assistants/defaults.ts";
import { loadGraph } from "../../agents/assistants/describe.ts";
import { type Assistant, searchAssistants } from "../../agents/assistants/store.ts";
import { type Database, database } from "../../db/client.ts";
import type { UserFilter } from "../../access/users/handlers.ts";
import { readSchemas } from "../../agents/graphs/graph.ts";
import { RESPONSE_MEMBER } from "./interrupts.ts";

// What a tool gives: the last message of the final state as MCP content, and the other members as structured content.

export type OutputSchema = NonNullable<Tool["outputSchema"]>;

/**
 * The output schema of a tool: that of its graph without messages, which are the content. No member is required, because a graph
 * may end before it has set one. A member whose schema cannot be checked may be any value. Undefined for a graph that gives only
 * messages.
 */
export function toOutputSchema(schema: Json | null): OutputSchema | undefined {
  if (schema?.type !== "object" || !isObject(schema.properties)) return undefined;
  const { $defs, definitions } = schema;
  const shared = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
  const members = Object.entries(schema.properties)
    .filter(([, member]) => !isMessages(member))
    .map(([name, member]) => [name, findSchemaFault({ ...shared, properties: { [name]: member } }) ? {} : member]);
  if (members.length === 0) return undefined;
  // Definitions that cannot be checked are in no member.
  const known = findSchemaFault(shared) === undefined ? shared : {};
  return { type: "object", ...known, properties: Object.fromEntries(members) };
}

export const isMessages = (member: unknown): boolean => isObject(member) && member.langgraph_type === "messages";

/** The final state of a run as a result; a failed run is an error that the model can read. */
export function toResult(state: Json, schema: OutputSchema | undefined): CallToolResult {
  const failed = state.__error__ as { error: string; message: string } | undefined;
  if (failed) return { content: [{ type: "text", text: `${failed.error}: ${failed.message}` }], isError: true };
  const said = Array.isArray(state.messages) ? toContent(state.messages.at(-1)) : [];
  const { messages: _, ...others } = state;
  const content = said.length > 0 ? said : [{ type: "text" as const, text: JSON.stringify(others) }];
  return { content, ...structureState(state, schema), isError: false };
}

/**
 * The members that their schema describes. Clients refuse a whole result for a member that does not fit, so it is left out. So is one
 * that takes too much work to check.
 */
export function structureState(state: Json, schema: OutputSchema | undefined): { structuredContent?: Json } {
  if (!schema) return {};
  const budget = new WorkBudget("Checking the result against its schema", "Give the graph a simpler output schema.");
  const fits = ([name, member]: [string, unknown]) => {
    if (!Object.hasOwn(state, name)) return false;
    const one = { ...schema, properties: { [name]: member } };
    return tryWithin(() => findSchemaBreach(one, { [name]: state[name] }, budget) === undefined) ?? false;
  };
  const names = Object.entries(schema.properties ?? {}).filter(fits);
  return { structuredContent: Object.fromEntries(names.map(([name]) => [name, state[name]])) };
}

/** The blocks of a message. Providers of audio put it beside the content. */
function toContent(message: unknown): ContentBlock[] {
  if (!isObject(message)) return [];
  const { content, additional_kwargs: beside } = message;
  if (typeof content === "string" && content !== "") return [{ type: "text", text: content }, ...listAudio(beside)];
  const blocks = Array.isArray(content) ? content.filter((block) => isObject(block)) : [];
  return [...blocks.flatMap((block) => toContentBlock(block) ?? []), ...listAudio(beside)];
}

function toContentBlock(given: Json): ContentBlock | undefined {
  const part = toPart(given);
  if (!part) return undefined;
  const { text, raw, url, filename, mediaType = "application/octet-stream" } = part;
  if (text !== undefined) return { type: "text", text };
  if (url !== undefined) return { type: "resource_link", uri: url, name: filename ?? url, mimeType: part.mediaType };
  if (raw === undefined) return undefined;
  if (/^(image|audio)\//.test(mediaType))
    return { type: mediaType.startsWith("image/") ? "image" : "audio", data: raw, mimeType: mediaType };
  return { type: "resource", resource: { uri: `data:${mediaType};base64,`, blob: raw, mimeType: mediaType } };
}

function listAudio(beside: unknown): ContentBlock[] {
  const audio = isObject(beside) ? beside.audio : undefined;
  if (!isObject(audio) || typeof audio.data !== "string") return [];
  const spoken = typeof audio.transcript === "string" ? [{ type: "text" as const, text: audio.transcript }] : [];
  const format = typeof audio.format === "string" ? audio.format : "wav";
  return [...spoken, { type: "audio", data: audio.data, mimeType: `audio/${format}` }];
}

/** Tools on one page of `tools/list`, and assistants per read in the search for a tool. */
export const PAGE = 100;

/** The tool by which a model, or a client without elicitation, answers an interrupt. */
export const RESPOND_TOOL: Tool = {
  name: RESPONSE_MEMBER,
  description:
    "Answers a question of a run that waits, and returns what the run then gives. The result of the call that waits has the ids.",
  inputSchema: {
    type: "object",
    properties: {
      thread_id: { type: "string", format: "uuid", description: "The thread that waits." },
      interrupt_id: { type: "string", description: "The question, when the thread waits for several answers." },
      answer: { description: "The answer, as the graph expects it: any JSON value." },
    },
    required: ["thread_id", "answer"],
  },
};

export const RespondArguments = v.object({
  thread_id: v.pipe(v.string(), v.toLowerCase()),
  interrupt_id: v.optional(v.string()),
  answer: v.unknown(),
});

/** The schema of a message list, for clients without LangGraph's types. */
const MESSAGES = {
  type: "array",
  description: "Chat messages; usually one with the role user.",
  items: {
    type: "object",
    properties: { role: { type: "string", enum: ["user", "assistant", "system"] }, content: { type: "string" } },
    required: ["role", "content"],
  },
};

/** One page of tools from `offset` on, in the order the assistants were made, and whether more follow; `metadata` narrows. */
export async function listTools(
  env: Env,
  workspaceId: string,
  offset: number,
  metadata?: UserFilter,
): Promise<{ tools: Tool[]; more: boolean }> {
  const rows = await assistantsFrom(database(env.DB), workspaceId, offset, metadata);
  const tools = await Promise.all(rows.slice(0, PAGE).map((assistant) => buildTool(assistant, env)));
  return { tools: tools.filter((tool) => tool !== undefined), more: rows.length > PAGE };
}

/** The assistant of a tool, by the tool's name. */
export async function assistantOfTool(
  env: Env,
  workspaceId: string,
  name: string,
  metadata?: UserFilter,
): Promise<Assistant | undefined> {
  const db = database(env.DB);
  for (let offset = 0; ; offset += PAGE) {
    const rows = await assistantsFrom(db, workspaceId, offset, metadata);
    const found = rows.slice(0, PAGE).find((assistant) => toolName(assistant) === name);
    if (found || rows.length <= PAGE) return found;
  }
}

/** The names of all tools that are assistants. */
export async function namesOfTools(env: Env, workspaceId: string, metadata?: UserFilter): Promise<string[]> {
  const names: string[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const rows = await assistantsFrom(database(env.DB), workspaceId, offset, metadata);
    names.push(...rows.slice(0, PAGE).map(toolName));
    if (rows.length <= PAGE) return names;
  }
}

/** A default assistant is called by its graph id; any other by its name and the beginning of its id, for names may repeat. */
function toolName({ assistant_id, graph_id, name }: Assistant): string {
  if (isDefaultAssistant(assistant_id) && name === graph_id) return toPlainText(graph_id, 64);
  return `${toPlainText(name, 55)}-${assistant_id.slice(0, 8)}`;
}

/** Letters, digits, `_` and `-`: what every model provider takes as a tool's name. */
function toPlainText(text: string, length: number): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]+/g, "_").slice(0, length);
}

async function buildTool(assistant: Assistant, env: Env): Promise<Tool | undefined> {
  // An assistant whose graph is no longer deployed is no tool.
  const graph = await loadGraph(assistant, env).catch(() => undefined);
  if (!graph) return undefined;
  const description = assistant.description ?? `Runs the assistant ${assistant.name} and returns its answer.`;
  const { input_schema, output_schema } = await readSchemas(assistant.graph_id, graph);
  const outputSchema = toOutputSchema(output_schema);
  return {
    name: toolName(assistant),
    description,
    inputSchema: inputSchema(input_schema),
    ...(outputSchema && { outputSchema }),
  };
}

/** The output schema that `tools/list` gives of the assistant. */
export async function outputSchemaOfTool(assistant: Assistant, env: Env): Promise<OutputSchema | undefined> {
  const graph = await loadGraph(assistant, env).catch(() => undefined);
  return graph && toOutputSchema((await readSchemas(assistant.graph_id, graph)).output_schema);
}

function inputSchema(schema: Record<string, unknown> | null): Tool["inputSchema"] {
  if (schema?.type !== "object") return { type: "object" };
  type Property = NonNullable<Tool["inputSchema"]["properties"]>[string];
  const properties = Object.entries(
    (schema.properties ?? {}) as Record<string, Property & { langgraph_type?: string }>,
  );
  return {
    ...schema,
    type: "object",
    properties: Object.fromEntries(
      properties.map(([name, property]) => [name, isMessages(property) ? MESSAGES : property]),
    ),
  };
}

/** A page of the assistants that a caller sees, and one more if others follow. */
export async function assistantsFrom(
  db: Database,
  workspaceId: string,
  offset: number,
  metadata: UserFilter,
): Promise<Assistant[]> {
  // Every user may run a default assistant (`mayUse`).
  return searchAssistants(db, workspaceId, {
    metadata,
    withDefaults: true,
    limit: PAGE,
    offset,
    sortBy: "created_at",
    sortOrder: "asc",
  });
}

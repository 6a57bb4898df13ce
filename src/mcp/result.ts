/** What a tool gives: the last message of the final state as MCP content, and the other members as structured content. */
import type { CallToolResult, ContentBlock, Tool } from "@modelcontextprotocol/server";
import { toPart } from "../a2a/content.ts";
import { isObject } from "../lib/json.ts";
import type { Json } from "../lib/json.ts";
import { findBreach } from "../lib/json-schema.ts";
import { findSchemaFault } from "../lib/json-schema.ts";

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

/** The members that their schema describes. Clients refuse a whole result for a member that does not fit, so it is left out. */
export function structureState(state: Json, schema: OutputSchema | undefined): { structuredContent?: Json } {
  if (!schema) return {};
  const fits = ([name, member]: [string, unknown]) =>
    Object.hasOwn(state, name) &&
    findBreach({ ...schema, properties: { [name]: member } }, { [name]: state[name] }) === undefined;
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

/**
 * One chat message as the streaming protocol's `messages` sub-events: message-start, then per block start, deltas and
 * finish, then message-finish. Blocks get indices of their own, since models number text and tool calls independently.
 */
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { audioIn, imagesIn, isObject, type ContentPart as Block, reasoningIn, standardPart } from "./content.ts";
import { messageType, toWireJson, wireChunk } from "./wire.ts";
import type { Json } from "../lib/json.ts";

type Role = "ai" | "human" | "system";
export type MessageEvent = Record<string, unknown> & { event: string };

const INITIAL: Record<string, Block> = {
  text: { type: "text", text: "" },
  reasoning: { type: "reasoning", reasoning: "" },
};

export class MessageBlocks {
  #open = new Map<string, { index: number; block: Block }>();
  #usage: unknown;

  /** `runId` is the model call's, by which the clients distinguish concurrent messages. */
  constructor(private readonly runId: string) {}

  /** `textless`: a node returned the message, and it has no content, only calls of tools at most. */
  start(id: string, role: Role = "ai", textless = false): MessageEvent {
    return this.#event("message-start", { id, role, ...(textless && { textless }) });
  }

  /** The sub-events of one streamed chunk. */
  delta(chunk: AIMessageChunk): MessageEvent[] {
    if (chunk.usage_metadata) this.#usage = chunk.usage_metadata;
    const events = this.#content(chunk);
    for (const [i, call] of (chunk.tool_call_chunks ?? []).entries()) {
      events.push(...this.#toolCall(`call:${call.index ?? i}`, call));
    }
    // OpenAI streams audio in this format only.
    return [...events, ...this.#media(chunk, "audio/pcm")];
  }

  /** Ends the message: every open block, then message-finish. `final` is the aggregated message, when there is one. */
  finish(final?: BaseMessage): MessageEvent[] {
    const events = [...this.#open.values()].map(({ index, block }) =>
      this.#event("content-block-finish", { index, content: finishBlock(block) }),
    );
    const usage = (final as { usage_metadata?: unknown } | undefined)?.usage_metadata ?? this.#usage;
    const metadata = final?.response_metadata;
    const reason = finishReason(metadata, [...this.#open.keys()]);
    events.push(this.#event("message-finish", { reason, usage, responseMetadata: metadata }));
    return events;
  }

  /** A whole message that no model streamed: the answer of one, or what a node returned. */
  whole(message: BaseMessage, from: "model" | "node"): MessageEvent[] {
    const type = messageType(message);
    return [
      this.start(
        message.id ?? "",
        type === "human" || type === "system" ? type : "ai",
        from === "node" && message.content.length === 0,
      ),
      ...this.#content(message),
      ...((message as { tool_calls?: { id?: string; name: string; args: unknown }[] }).tool_calls ?? []).flatMap(
        (call, i) => this.#toolCall(`call:${i}`, { id: call.id, name: call.name, args: JSON.stringify(call.args) }),
      ),
      ...this.#media(message, "audio/wav"),
      ...this.finish(message),
    ];
  }

  /** The reasoning and the content. OpenAI's Responses API gives the same reasoning in both places. */
  #content({ content, additional_kwargs: extra }: BaseMessage): MessageEvent[] {
    const parts = typeof content === "string" ? [] : (content as Block[]).map(standardPart);
    const reasoning = parts.some(({ type }) => type === "reasoning") ? "" : reasoningIn(extra ?? {});
    const events = reasoning ? this.#append("reasoning", "reasoning", reasoning) : [];
    if (typeof content === "string") return content ? [...events, ...this.#append("text", "text", content)] : events;
    return [...events, ...parts.flatMap((part, i) => this.#part(part, i))];
  }

  /** Audio and images that are not in the content. */
  #media({ additional_kwargs: extra }: BaseMessage, audioType: string): MessageEvent[] {
    const audio = audioIn(extra ?? {}, audioType);
    const events: MessageEvent[] = [];
    if (audio) {
      const { type, id, mimeType } = audio;
      if (!this.#open.has("audio"))
        events.push(this.#opened("audio", { type, ...(id !== undefined && { id }), data: "", mimeType }));
      events.push(...this.#grow("audio", { ...audio, mimeType: undefined }));
    }
    for (const image of imagesIn(extra ?? {})) {
      const key = `image:${JSON.stringify(image.id ?? image.url ?? image.data)}`;
      if (!this.#open.has(key)) events.push(this.#opened(key, image));
    }
    return events;
  }

  #part(part: Block, i: number): MessageEvent[] {
    const { type } = part;
    if (type !== "text" && type !== "reasoning") return this.#other(part);
    const key = `${type}:${typeof part.index === "number" ? part.index : i}`;
    const { [type]: given, ...others } = part;
    const more = text(given);
    const events = more === "" && this.#open.has(key) ? [] : this.#append(key, type, more);
    return [...events, ...this.#grow(key, others)];
  }

  /**
   * A block of another type, such as audio. As LangChain adds chunks up, one with the index or the id of an earlier block
   * belongs to it, and one with neither is a block of its own.
   */
  #other(part: Block): MessageEvent[] {
    const type = part.type.replace(/_delta$/, "");
    const name = part.index ?? part.id;
    const key = name === undefined ? `${type}+${this.#open.size}` : `${type}:${JSON.stringify(name)}`;
    return this.#open.has(key) ? this.#grow(key, part) : [this.#opened(key, { ...part })];
  }

  /** Adds members to an open block: citations of a text, the data of an audio. */
  #grow(key: string, { data, type: _type, index: _index, ...members }: Record<string, unknown>): MessageEvent[] {
    const open = this.#open.get(key);
    if (!open) return [];
    const { index, block } = open;
    const events: MessageEvent[] = [];
    const added = Object.entries(members).filter(([name, value]) => adds(block, name, value));
    if (added.length > 0) {
      Object.assign(block, mergeBlock(block, Object.fromEntries(added)));
      // The clients replace members by those of a block-delta: they are whole, and only what has deltas of its own is left out.
      const fields = Object.fromEntries(Object.entries(block).filter(([name]) => !isIncrement(block, name)));
      events.push(this.#event("content-block-delta", { index, delta: { type: "block-delta", fields } }));
    }
    if (typeof data === "string" && data !== "") {
      block.data = text(block.data) + data;
      const delta = { type: "data-delta", data, encoding: "base64" };
      events.push(this.#event("content-block-delta", { index, delta }));
    }
    return events;
  }

  #opened(key: string, block: Block): MessageEvent {
    const index = this.#open.size;
    this.#open.set(key, { index, block: { ...block } });
    return this.#event("content-block-start", { index, content: block });
  }

  #append(key: string, type: "text" | "reasoning", more: string): MessageEvent[] {
    const events = this.#open.has(key) ? [] : [this.#opened(key, INITIAL[type] as Block)];
    const open = this.#open.get(key);
    if (!open) return events;
    open.block[type] = text(open.block[type]) + more;
    events.push(
      this.#event("content-block-delta", { index: open.index, delta: { type: `${type}-delta`, [type]: more } }),
    );
    return events;
  }

  #toolCall(key: string, call: { id?: string; name?: string; args?: string }): MessageEvent[] {
    const events = this.#open.has(key)
      ? []
      : [this.#opened(key, { type: "tool_call_chunk", id: call.id ?? null, name: call.name ?? null, args: "" })];
    const open = this.#open.get(key);
    if (!open) return events;
    if (call.id) open.block.id = call.id;
    if (call.name) open.block.name = call.name;
    open.block.args = text(open.block.args) + (call.args ?? "");
    // The clients replace `args` by what a block-delta holds: it is the text so far, not the increment.
    events.push(this.#event("content-block-delta", { index: open.index, delta: toolDelta(open.block) }));
    return events;
  }

  #event(event: string, fields: Record<string, unknown>): MessageEvent {
    return { event, ...fields, run_id: this.runId };
  }
}

/** Members whose text names something: a later chunk repeats it. Of other members it continues the text. */
const NAMES = new Set(["id", "name", "mimeType", "mime_type", "media_type", "source_type", "fileId", "url", "phase"]);

/** Whether a member of a chunk adds something to the block. */
function adds(block: Block, name: string, value: unknown): boolean {
  if (value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0))
    return false;
  return !(NAMES.has(name) && block[name] === value);
}

/** Whether deltas of their own bring a member of the block. */
const isIncrement = ({ type }: Block, name: string): boolean =>
  name === "data" || name === "index" || (name === type && (type === "text" || type === "reasoning"));

/** The members of a block and those of its next chunk, added up. */
function mergeBlock(before: Record<string, unknown>, more: Record<string, unknown>): Record<string, unknown> {
  const result = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(more)) {
    const known = result.get(name);
    if (value === undefined || value === null) continue;
    if (typeof known === "string" && typeof value === "string" && !NAMES.has(name)) result.set(name, known + value);
    else if (Array.isArray(known) && Array.isArray(value))
      result.set(name, [...(known as unknown[]), ...(value as unknown[])]);
    else result.set(name, isObject(known) && isObject(value) ? mergeBlock(known, value) : value);
  }
  return Object.fromEntries(result);
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function toolDelta({ id, name, args }: Block): Record<string, unknown> {
  return { type: "block-delta", fields: { type: "tool_call_chunk", id, name, args } };
}

function finishBlock(block: Block): Block {
  if (block.type !== "tool_call_chunk") return block;
  const { id, name, args } = block;
  try {
    return { type: "tool_call", id, name, args: JSON.parse(text(args) || "{}") as unknown };
  } catch {
    return { type: "invalid_tool_call", id, name, args, error: "The arguments are not valid JSON." };
  }
}

const REASONS = new Map<unknown, string>([
  ["tool_calls", "tool_use"],
  ["tool_use", "tool_use"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["content_filter", "content_filter"],
]);

function finishReason(metadata: Record<string, unknown> | undefined, blocks: string[]): string {
  const known = REASONS.get(metadata?.finish_reason ?? metadata?.stop_reason);
  return known ?? (blocks.some((key) => key.startsWith("call:")) ? "tool_use" : "stop");
}

// Adds up the streamed chunks of messages, for the classic `messages` mode whose events hold the message so far.

export class Accumulator {
  #messages = new Map<string, AIMessageChunk>();

  /** The message so far, in wire form, and whether this was its first chunk. */
  add(chunk: Json & { id: string }): { message: string; first: boolean } {
    const first = !this.#messages.has(chunk.id);
    return { message: toWireJson(this.take(chunk)), first };
  }

  /** Takes a chunk in without writing the sum out, which costs as much as the message is long. */
  take(chunk: Json & { id: string }): AIMessageChunk {
    const before = this.#messages.get(chunk.id);
    const { type: _type, ...fields } = chunk;
    const next = new AIMessageChunk(fields);
    const sum = before ? before.concat(next) : next;
    this.#messages.set(chunk.id, sum);
    return sum;
  }

  /** The chunks of one message so far, as one chunk in wire form. */
  chunk(id: string): Json {
    const sum = this.#messages.get(id);
    return sum ? (JSON.parse(wireChunk(sum)) as Json) : {};
  }
}

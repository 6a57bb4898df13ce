/**
 * What a graph emits through LangChain callbacks rather than through its own loop: model tokens and tool calls.
 * LangGraph's own handlers for these push into a queue that lags behind the loop; this one emits at once, so that the
 * event log has everything in the order it happened.
 */
import { BaseCallbackHandler, type HandleLLMNewTokenCallbackFields } from "@langchain/core/callbacks/base";
import { AIMessageChunk, type BaseMessage, isBaseMessage } from "@langchain/core/messages";
import type { LLMResult } from "@langchain/core/outputs";
import { MessageBlocks, type MessageEvent } from "./blocks.ts";
import { messageType } from "./wire.ts";

type Metadata = Record<string, unknown>;

export interface TapSink {
  /** A message or a chunk of one, as the classic `messages-tuple` mode has it. */
  tuple(namespace: string[], message: BaseMessage, metadata: Metadata): void;
  /** A sub-event of the streaming protocol's `messages` channel. */
  message(namespace: string[], node: string, event: MessageEvent): void;
  /** A tool call's beginning, partial output, end or error, as LangGraph's `tools` mode has it. */
  tool(namespace: string[], event: Metadata): void;
}

interface Call {
  namespace: string[];
  node: string;
  metadata: Metadata;
  blocks: MessageBlocks;
  /** The id under which the message streams; unset until its first chunk. */
  messageId?: string;
}

const HIDDEN = ["langsmith:nostream", "nostream"];

export class Tap extends BaseCallbackHandler {
  name = "WeirTap";
  lc_prefer_streaming = true;
  override awaitHandlers = true;
  #models = new Map<string, Call>();
  #nodes = new Map<string, Call>();
  #tools = new Map<string, { namespace: string[]; toolCallId?: string; name: string }>();
  #seen = new Set<string>();

  /** `given`: metadata of the whole run, which every message has. LangChain may pass only a part of it. */
  constructor(
    private readonly sink: TapSink,
    private readonly given: Metadata,
  ) {
    super();
  }

  override handleChatModelStart(
    _llm: unknown,
    _messages: unknown,
    runId: string,
    _parent?: string,
    _extra?: unknown,
    tags?: string[],
    metadata?: Metadata,
    name?: string,
  ): void {
    const call =
      metadata &&
      !tags?.some((tag) => HIDDEN.includes(tag)) &&
      readCall(runId, { ...this.given, ...metadata }, tags, name);
    if (call) this.#models.set(runId, call);
  }

  override handleLLMNewToken(
    token: string,
    _index: unknown,
    runId: string,
    _parent?: string,
    _tags?: string[],
    fields?: HandleLLMNewTokenCallbackFields,
  ): void {
    const call = this.#models.get(runId);
    if (!call) return;
    const given = (fields?.chunk as { message?: AIMessageChunk } | undefined)?.message;
    const chunk = given && isBaseMessage(given) ? given : new AIMessageChunk({ content: token });
    const first = call.messageId === undefined;
    call.messageId ??= chunk.id ?? `run-${runId}`;
    // The state will hold the message under the id that its first chunk had.
    chunk.id = call.messageId;
    chunk.lc_kwargs.id = call.messageId;
    this.#seen.add(call.messageId);
    this.sink.tuple(call.namespace, chunk, call.metadata);
    if (first) this.#messages(call, [call.blocks.start(call.messageId)]);
    this.#messages(call, call.blocks.delta(chunk));
  }

  override async handleLLMEnd(output: LLMResult, runId: string): Promise<void> {
    const call = this.#models.get(runId);
    this.#models.delete(runId);
    if (!call) return;
    const message = (output.generations[0]?.[0] as { message?: BaseMessage } | undefined)?.message;
    if (call.messageId !== undefined) {
      if (message) setId(message, call.messageId);
      this.#messages(call, call.blocks.finish(message));
      // The node ends in one turn of the event loop. The last tokens of this run and of others are sent before it.
      await new Promise((resolve) => setTimeout(resolve));
    } else if (message && isBaseMessage(message)) this.#whole(call, message, `run-${runId}`, "model");
  }

  override handleLLMError(error: unknown, runId: string): void {
    const call = this.#models.get(runId);
    this.#models.delete(runId);
    if (call?.messageId === undefined) return;
    const message = error instanceof Error ? error.message : String(error);
    this.#messages(call, [{ event: "error", message, run_id: runId }]);
  }

  override handleChainStart(
    _chain: unknown,
    inputs: unknown,
    runId: string,
    _parent?: string,
    tags?: string[],
    metadata?: Metadata,
    _type?: string,
    name?: string,
  ): void {
    if (!metadata || name !== metadata.langgraph_node || tags?.includes("langsmith:hidden")) return;
    const call = readCall(runId, { ...this.given, ...metadata }, tags, name);
    if (!call) return;
    this.#nodes.set(runId, call);
    for (const message of messagesIn(inputs)) if (message.id) this.#seen.add(message.id);
  }

  override handleChainEnd(outputs: unknown, runId: string): void {
    const call = this.#nodes.get(runId);
    this.#nodes.delete(runId);
    if (!call) return;
    for (const message of messagesIn(outputs)) {
      const tool = (message as { tool_call_id?: string }).tool_call_id;
      this.#whole(call, message, tool === undefined ? `run-${runId}` : `run-${runId}-tool-${tool}`, "node");
    }
  }

  override handleChainError(_error: unknown, runId: string): void {
    this.#nodes.delete(runId);
  }

  override handleToolStart(
    _tool: unknown,
    input: string,
    runId: string,
    _parent?: string,
    tags?: string[],
    metadata?: Metadata,
    runName?: string,
    toolCallId?: string,
  ): void {
    if (!metadata || tags?.includes("langsmith:hidden")) return;
    const info = { namespace: readNamespace(metadata) ?? [], toolCallId, name: runName ?? "unknown" };
    this.#tools.set(runId, info);
    this.sink.tool(info.namespace, { event: "on_tool_start", toolCallId, name: info.name, input });
  }

  override handleToolEvent(chunk: unknown, runId: string): void {
    this.#tool(runId, { event: "on_tool_event", data: chunk });
  }

  override handleToolEnd(output: unknown, runId: string): void {
    this.#tool(runId, { event: "on_tool_end", output });
    this.#tools.delete(runId);
  }

  override handleToolError(error: unknown, runId: string): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#tool(runId, { event: "on_tool_error", error: { message } });
    this.#tools.delete(runId);
  }

  #tool(runId: string, event: Metadata): void {
    const info = this.#tools.get(runId);
    if (info) this.sink.tool(info.namespace, { ...event, toolCallId: info.toolCallId, name: info.name });
  }

  /** A message that nothing streamed, from a model or as a node returned it. */
  #whole(call: Call, message: BaseMessage, id: string, from: "model" | "node"): void {
    if (message.id !== undefined && this.#seen.has(message.id)) return;
    if (message.id === undefined) setId(message, id);
    this.#seen.add(message.id ?? id);
    this.sink.tuple(call.namespace, message, call.metadata);
    // The protocol reports tool results on its `tools` channel. A message that removes another one is no message of the conversation.
    if (!["tool", "remove"].includes(messageType(message)))
      this.#messages(call, new MessageBlocks(message.id ?? id).whole(message, from));
  }

  #messages(call: Call, events: MessageEvent[]): void {
    for (const event of events) this.sink.message(call.namespace, call.node, event);
  }
}

function setId(message: BaseMessage, id: string): void {
  message.id = id;
  message.lc_kwargs.id = id;
}

function readNamespace(metadata: Metadata): string[] | undefined {
  const namespace = metadata.langgraph_checkpoint_ns ?? metadata.checkpoint_ns;
  return typeof namespace === "string" && namespace ? namespace.split("|") : undefined;
}

function readCall(runId: string, metadata: Metadata, tags?: string[], name?: string): Call | undefined {
  const namespace = readNamespace(metadata);
  if (!namespace) return undefined;
  const node = (metadata.langgraph_node as string | undefined) ?? name ?? "";
  return { namespace, node, metadata: { tags, name, ...metadata }, blocks: new MessageBlocks(runId) };
}

/** The messages directly in a node's input or output: itself, in its list, or in its values and their lists. */
function messagesIn(value: unknown): BaseMessage[] {
  if (isBaseMessage(value)) return [value];
  if (typeof value !== "object" || value === null) return [];
  const parts: unknown[] = Array.isArray(value) ? value : Object.values(value).flat();
  return parts.filter((part) => isBaseMessage(part));
}

/** An agent's messages as they are streamed: text, reasoning and tool calls, each opened once and closed. */
import type { Json } from "../../lib/json.ts";

export type AguiEvent = Json & { type: string };

interface Open {
  id: string;
  text: boolean;
  reasoning: boolean;
  /** By the index of the block. `sent`: how many characters of its arguments have been sent. */
  calls: Map<number, { id: string; sent: number; open: boolean }>;
}

export class Speech {
  /** By model call. */
  #open = new Map<string, Open>();
  /** A message that a node changed and emits again is not opened again: the snapshot at the end shows it. */
  #begun = new Set<string>();
  #calls = new Set<string>();

  /** The AG-UI events for a sub-event of the streaming protocol's `messages` channel. */
  apply(event: Json): AguiEvent[] {
    const key = String(event.run_id);
    if (event.event === "message-start") {
      this.#start(key, event);
      return [];
    }
    const open = this.#open.get(key);
    if (!open) return [];
    const index = Number(event.index);
    switch (event.event) {
      case "content-block-start":
        return this.#call(open, index, event.content as Json);
      case "content-block-delta": {
        const { type, text, reasoning, fields } = event.delta as Json;
        if (type === "text-delta") return this.#text(open, text);
        if (type === "reasoning-delta") return this.#reasoning(open, reasoning);
        return type === "block-delta" ? this.#call(open, index, fields as Json) : [];
      }
      case "content-block-finish":
        return this.#finish(open, index);
      case "message-finish":
      case "error":
        this.#open.delete(key);
        return this.#close(open);
      default:
        return [];
    }
  }

  /** A message that the graph emits itself, whole. The same message in the state is not opened again. */
  whole(messageId: string, delta: string): AguiEvent[] {
    if (this.#begun.has(messageId)) return [];
    this.#begun.add(messageId);
    const content = delta === "" ? [] : [{ type: "TEXT_MESSAGE_CONTENT", messageId, delta }];
    return [
      { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
      ...content,
      { type: "TEXT_MESSAGE_END", messageId },
    ];
  }

  /** A tool call that the graph emits itself, whole. */
  wholeCall({ id: toolCallId, name: toolCallName, args }: { id: string; name: string; args: string }): AguiEvent[] {
    if (this.#calls.has(toolCallId)) return [];
    this.#calls.add(toolCallId);
    return [
      { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId: toolCallId },
      { type: "TOOL_CALL_ARGS", toolCallId, delta: args },
      { type: "TOOL_CALL_END", toolCallId },
    ];
  }

  /** Closes what is open: the run has ended, or its node begins again. */
  end(): AguiEvent[] {
    const events = [...this.#open.values()].flatMap((open) => this.#close(open));
    this.#open.clear();
    return events;
  }

  /** Whether the call has been sent. */
  called(toolCallId: string): boolean {
    return this.#calls.has(toolCallId);
  }

  #start(key: string, { id, role }: Json): void {
    const name = typeof id === "string" && id !== "" ? id : key;
    if (this.#begun.has(name) || !(role === undefined || role === "ai")) return;
    this.#begun.add(name);
    this.#open.set(key, { id: name, text: false, reasoning: false, calls: new Map() });
  }

  #text(open: Open, delta: unknown): AguiEvent[] {
    if (typeof delta !== "string" || delta === "") return [];
    const { id: messageId } = open;
    const before = [...this.#endReasoning(open)];
    if (!open.text) before.push({ type: "TEXT_MESSAGE_START", messageId, role: "assistant" });
    open.text = true;
    return [...before, { type: "TEXT_MESSAGE_CONTENT", messageId, delta }];
  }

  #reasoning(open: Open, delta: unknown): AguiEvent[] {
    if (typeof delta !== "string" || delta === "") return [];
    const messageId = `${open.id}-reasoning`;
    const before: AguiEvent[] = open.reasoning
      ? []
      : [
          { type: "REASONING_START", messageId },
          { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" },
        ];
    open.reasoning = true;
    return [...before, { type: "REASONING_MESSAGE_CONTENT", messageId, delta }];
  }

  #endReasoning(open: Open): AguiEvent[] {
    if (!open.reasoning) return [];
    open.reasoning = false;
    const messageId = `${open.id}-reasoning`;
    return [
      { type: "REASONING_MESSAGE_END", messageId },
      { type: "REASONING_END", messageId },
    ];
  }

  /** `args` is the text so far. A call is opened when both its id and its name are known. */
  #call(open: Open, index: number, { type, id, name, args }: Json): AguiEvent[] {
    if (type !== "tool_call_chunk") return [];
    const events: AguiEvent[] = [];
    if (!open.calls.has(index) && typeof id === "string" && id !== "" && typeof name === "string" && name !== "") {
      open.calls.set(index, { id, sent: 0, open: true });
      this.#calls.add(id);
      const parent = { parentMessageId: open.id };
      events.push(...this.#endReasoning(open), {
        type: "TOOL_CALL_START",
        toolCallId: id,
        toolCallName: name,
        ...parent,
      });
    }
    const call = open.calls.get(index);
    if (!call || typeof args !== "string" || args.length <= call.sent) return events;
    events.push({ type: "TOOL_CALL_ARGS", toolCallId: call.id, delta: args.slice(call.sent) });
    call.sent = args.length;
    return events;
  }

  #finish(open: Open, index: number): AguiEvent[] {
    const call = open.calls.get(index);
    return call ? this.#endCall(call) : [];
  }

  #endCall(call: { id: string; open: boolean }): AguiEvent[] {
    if (!call.open) return [];
    call.open = false;
    return [{ type: "TOOL_CALL_END", toolCallId: call.id }];
  }

  #close(open: Open): AguiEvent[] {
    const calls = [...open.calls.values()].flatMap((call) => this.#endCall(call));
    const { id: messageId, text } = open;
    open.text = false;
    return [...this.#endReasoning(open), ...calls, ...(text ? [{ type: "TEXT_MESSAGE_END", messageId }] : [])];
  }
}

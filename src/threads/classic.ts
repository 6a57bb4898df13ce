/** The log's events as the Agent Server's classic SSE events. */
import { type SseFrame, sseFrame } from "../http/sse.ts";
import { Accumulator } from "../runtime/accumulate.ts";
import type { EventMethod, LogEvent } from "./events.ts";
import type { Json } from "./rpc.ts";

export interface ClassicOptions {
  modes: string[];
  subgraphs: boolean;
  /** Frames up to this sequence number are left out: the client has them. */
  after: number;
  /** Only these graphs' events: namespaces joined by `|`, the root is `""`. */
  namespaces?: string[];
}

/** What of the log each mode is made from. */
const SOURCES: Record<string, EventMethod[]> = {
  values: ["values"],
  updates: ["updates"],
  messages: ["tuple", "values"],
  "messages-tuple": ["tuple"],
  custom: ["custom"],
  tasks: ["tasks"],
  tools: ["tools"],
  debug: ["debug"],
  checkpoints: ["debug"],
  events: ["events"],
};

export const CLASSIC_MODES = Object.keys(SOURCES);

/** The log's methods that these modes need. */
export function methodsOf(modes: string[]): EventMethod[] {
  return [...new Set<EventMethod>(["metadata", "error", "feedback", ...modes.flatMap((mode) => SOURCES[mode] ?? [])])];
}

/** Frames one run's events. */
export async function* classicFrames(events: AsyncIterable<LogEvent>, options: ClassicOptions): AsyncGenerator<string> {
  const framer = new ClassicFramer(options);
  for await (const event of events) {
    const frames = framer.frames(event);
    if (event.seq > options.after) for (const frame of frames) yield sseFrame({ ...frame, id: String(event.seq) });
  }
}

export class ClassicFramer {
  #modes: Set<string>;
  #accumulator = new Accumulator();
  #completed = new Set<string>();

  constructor(private readonly options: ClassicOptions) {
    this.#modes = new Set(options.modes);
  }

  frames(event: LogEvent): SseFrame[] {
    const { method, ns, data } = event;
    if (this.options.namespaces && !this.options.namespaces.includes(graphOf(event))) return [];
    if (method === "metadata" || method === "error" || method === "feedback") return [frame(method, data)];
    if (method === "events") return this.#modes.has("events") ? [frame("events", data)] : [];
    if (method === "tuple") return this.#tuple(event);
    // Tokens and custom events come from any depth; states and updates of nested graphs only on request.
    if (ns.length > 0 && !this.options.subgraphs && method !== "custom" && method !== "tools") return [];
    if (method === "debug") return this.#debug(event);
    const frames = this.#modes.has(method) ? [this.#named(method, ns, data)] : [];
    if (method === "values" && ns.length === 0 && this.#modes.has("messages"))
      frames.push(...this.#complete(data as Json));
    return frames;
  }

  #tuple({ ns, data, meta }: LogEvent): SseFrame[] {
    const frames: SseFrame[] = [];
    const message = data as Json & { id: string; type: string };
    if (this.#modes.has("messages-tuple")) frames.push(this.#named("messages", ns, [message, meta]));
    if (!this.#modes.has("messages") || !message.type.endsWith("Chunk")) return frames;
    const sum = this.#accumulator.add(message);
    if (sum.first) frames.push(frame("messages/metadata", { [message.id]: { metadata: meta } }));
    frames.push({ event: "messages/partial", data: `[${sum.message}]` });
    return frames;
  }

  #debug({ ns, data }: LogEvent): SseFrame[] {
    const frames = this.#modes.has("debug") ? [this.#named("debug", ns, data)] : [];
    const { type, payload } = data as { type: string; payload: unknown };
    if (type === "checkpoint" && this.#modes.has("checkpoints")) frames.push(this.#named("checkpoints", ns, payload));
    return frames;
  }

  #complete(state: Json): SseFrame[] {
    const messages = Array.isArray(state.messages) ? (state.messages as Json[]) : [];
    const fresh = messages.filter(({ id }) => typeof id === "string" && !this.#completed.has(id));
    for (const { id } of fresh) this.#completed.add(String(id));
    return fresh.length > 0 ? [frame("messages/complete", fresh)] : [];
  }

  #named(mode: string, ns: string[], data: unknown): SseFrame {
    return frame(this.options.subgraphs && ns.length > 0 ? `${mode}|${ns.join("|")}` : mode, data);
  }
}

/** The graph an event belongs to. Messages and tool calls name their node's task too. */
function graphOf({ method, ns }: LogEvent): string {
  return (method === "tuple" || method === "tools" ? ns.slice(0, -1) : ns).join("|");
}

const frame = (event: string, data: unknown): SseFrame => ({ event, data: JSON.stringify(data) });

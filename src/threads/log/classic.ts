/** The log's events as the Agent Server's classic SSE events. */
import { sseFrame } from "../../http/sse.ts";
import { Accumulator } from "../../runtime/blocks.ts";
import type { EventMethod, EventText, Framing } from "./events.ts";
import type { Json } from "../../lib/json.ts";

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
export function toEventMethods(modes: string[]): EventMethod[] {
  return [...new Set<EventMethod>(["metadata", "error", "feedback", ...modes.flatMap((mode) => SOURCES[mode] ?? [])])];
}

/** The framing of one run's events. It must see the run from its first event where the modes have `messages`. */
export function classicFraming(options: ClassicOptions): Framing {
  const framer = new ClassicFramer(options);
  return (event) => {
    const frames = framer.frames(event);
    return event.seq > options.after ? frames : "";
  };
}

export class ClassicFramer {
  #modes: Set<string>;
  #accumulator = new Accumulator();
  #completed = new Set<string>();

  constructor(private readonly options: Omit<ClassicOptions, "after">) {
    this.#modes = new Set(options.modes);
  }

  /** The event's frames; "" when these modes do not show it. */
  frames(event: EventText): string {
    const { method, ns } = event;
    if (this.options.namespaces && !this.options.namespaces.includes(graphName(event))) return "";
    if (method === "metadata" || method === "error" || method === "feedback") return frame(event, method, event.text());
    if (method === "events") return this.#modes.has("events") ? frame(event, "events", event.text()) : "";
    if (method === "tuple") return this.#tuple(event);
    // Tokens and custom events come from any depth; states and updates of nested graphs only on request.
    if (ns.length > 0 && !this.options.subgraphs && method !== "custom" && method !== "tools") return "";
    if (method === "debug") return this.#debug(event);
    const shown = this.#modes.has(method) ? this.#named(event, method, event.text()) : "";
    const completes = method === "values" && ns.length === 0 && this.#modes.has("messages");
    return completes ? shown + this.#complete(event) : shown;
  }

  #tuple(event: EventText): string {
    const text = event.text();
    const { meta = "null" } = event;
    const shown = this.#modes.has("messages-tuple") ? this.#named(event, "messages", `[${text},${meta}]`) : "";
    if (!this.#modes.has("messages")) return shown;
    const message = JSON.parse(text) as Json & { id: string; type: string };
    if (!message.type.endsWith("Chunk")) return shown;
    const sum = this.#accumulator.add(message);
    const about = `{${JSON.stringify(message.id)}:{"metadata":${meta}}}`;
    const first = sum.first ? frame(event, "messages/metadata", about) : "";
    return shown + first + frame(event, "messages/partial", `[${sum.message}]`);
  }

  #debug(event: EventText): string {
    const text = event.text();
    const shown = this.#modes.has("debug") ? this.#named(event, "debug", text) : "";
    if (!this.#modes.has("checkpoints")) return shown;
    const { type, payload } = JSON.parse(text) as { type: string; payload: unknown };
    return type === "checkpoint" ? shown + this.#named(event, "checkpoints", JSON.stringify(payload)) : shown;
  }

  #complete(event: EventText): string {
    const state = JSON.parse(event.text()) as Json;
    const messages = Array.isArray(state.messages) ? (state.messages as Json[]) : [];
    const fresh = messages.filter(({ id }) => typeof id === "string" && !this.#completed.has(id));
    for (const { id } of fresh) this.#completed.add(String(id));
    return fresh.length > 0 ? frame(event, "messages/complete", JSON.stringify(fresh)) : "";
  }

  #named(event: EventText, mode: string, data: string): string {
    const { ns } = event;
    return frame(event, this.options.subgraphs && ns.length > 0 ? `${mode}|${ns.join("|")}` : mode, data);
  }
}

/** The graph an event belongs to. Messages and tool calls name their node's task too. */
function graphName({ method, ns }: EventText): string {
  return (method === "tuple" || method === "tools" ? ns.slice(0, -1) : ns).join("|");
}

const frame = ({ seq }: EventText, event: string, data: string): string => sseFrame({ event, data, id: String(seq) });

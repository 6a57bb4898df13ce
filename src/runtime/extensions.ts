/**
 * Stream transformers: what `compile({ transformers })`, `createAgent({ streamTransformers })` and middleware add to a run's
 * stream. LangGraph runs them in version 3 of `streamEvents` only, whose events lag behind the graph. Here they read the
 * chunks that the log is made of, and what they push becomes events of the log.
 */
import * as langgraph from "@langchain/langgraph";
import type { AnyGraph as Graph } from "./introspect.ts";
import type { MessageEvent } from "./blocks.ts";

/** What the graph emits and the transformers add. */
export interface ExtensionSink {
  chunk(namespace: string[], mode: string, payload: unknown): void;
  message(namespace: string[], node: string, event: MessageEvent): void;
  tool(namespace: string[], event: Record<string, unknown>): void;
  /** What a transformer pushed into a remote channel of this name, or the value that it promised under it. */
  extension(namespace: string[], name: string, payload: unknown): void;
}

type Chunk = [namespace: string[], mode: string, payload: unknown];
interface Transformer {
  __native?: boolean;
}
interface Event {
  method: string;
  params: { namespace: string[]; data: unknown };
}
type Read = (chunks: AsyncIterable<Chunk>, factories: (() => Transformer)[]) => AsyncIterable<Event>;

/** The chunks that transformers read, as in LangGraph. `messages` and `tools` come from callbacks (callbacks.ts). */
const MODES = new Set(["values", "updates", "tasks", "custom"]);

/** The methods of events that are no extension's. */
const PLAIN = new Set([...MODES, "messages", "tools", "checkpoints", "debug", "lifecycle", "input", "input.requested"]);

/** How long the run waits for values that transformers promised, milliseconds. A promise may never resolve. */
const PROMISED_MS = 5_000;

/**
 * Runs `drive` with a sink that shows everything to the transformers of the graph. Rejects with what a transformer threw, once
 * the graph has ended. Transformers of LangChain's own only serve readers in the same process: a graph without others is
 * run as it is, and so is one whose LangGraph has no transformers (before 1.3).
 */
export async function withExtensions<S extends ExtensionSink>(
  graph: Graph,
  sink: S,
  drive: (sink: S) => Promise<void>,
): Promise<void> {
  const read = (langgraph as unknown as Record<string, Read | undefined>)["createGraphRunStream"];
  const factories = (graph as { streamTransformers?: (() => Transformer)[] }).streamTransformers ?? [];
  const transformers = factories.map((factory) => factory());
  if (!read || transformers.every(({ __native }) => __native)) return drive(sink);
  const chunks = new Chunks();
  const given = new WeakSet();
  const events = read(
    chunks,
    transformers.map((one) => () => one),
  );
  const forwarded = forward(events, given, sink);
  // The rejection is handled below, which may be much later. Until then nothing reads the chunks.
  forwarded.catch(() => chunks.drop());
  try {
    await drive(shownTo(sink, chunks, given));
  } catch (error) {
    chunks.end({ error });
    await withinTime(forwarded.catch(() => {}));
    throw error;
  }
  chunks.end({});
  await withinTime(forwarded);
}

/** The same sink, what it gets also as chunks. */
function shownTo<S extends ExtensionSink>(sink: S, chunks: Chunks, given: WeakSet<object>): S {
  const shown: Partial<ExtensionSink> = {
    chunk(namespace, mode, payload) {
      sink.chunk(namespace, mode, payload);
      if (mode === "custom" && typeof payload === "object" && payload !== null) given.add(payload);
      if (MODES.has(mode)) chunks.push([namespace, mode, payload]);
    },
    message(namespace, node, event) {
      sink.message(namespace, node, event);
      chunks.push([namespace, "messages", [event, { langgraph_node: node }]]);
    },
    tool(namespace, event) {
      sink.tool(namespace, event);
      chunks.push([namespace, "tools", event]);
    },
  };
  return new Proxy(sink, {
    get: (target, key) => {
      const own = shown[key as keyof ExtensionSink] ?? (target[key as keyof S] as unknown);
      return typeof own === "function" ? (own.bind(target) as unknown) : own;
    },
  });
}

async function forward(events: AsyncIterable<Event>, given: WeakSet<object>, sink: ExtensionSink): Promise<void> {
  for await (const { method, params } of events) {
    const { namespace, data } = params;
    if (!PLAIN.has(method)) sink.extension(namespace, method.replace(/^custom:/, ""), data);
    else if (method === "custom" && isNamed(data) && !given.has(data)) {
      sink.extension(namespace, data.name, data.payload);
    }
  }
}

function isNamed(data: unknown): data is { name: string; payload: unknown } {
  return typeof data === "object" && data !== null && "payload" in data && typeof (data as never)["name"] === "string";
}

async function withinTime(forwarded: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(() => resolve(true), PROMISED_MS);
  });
  const isLate = await Promise.race([forwarded, late]).finally(() => clearTimeout(timer));
  if (isLate)
    console.warn(JSON.stringify({ level: "warn", message: "A value of a stream transformer did not resolve." }));
}

/** What the graph emits, for one reader, whenever that reads it. */
class Chunks implements AsyncIterable<Chunk> {
  #waiting: Chunk[] = [];
  #end: { error?: unknown } | undefined;
  #wake: () => void = () => {};
  #dropped = false;

  push(chunk: Chunk): void {
    if (this.#dropped) return;
    this.#waiting.push(chunk);
    this.#wake();
  }

  /** Keeps no more chunks: the object has 128 MB. */
  drop(): void {
    this.#dropped = true;
    this.#waiting = [];
  }

  end(how: { error?: unknown }): void {
    this.#end = how;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk, void, void> {
    for (;;) {
      yield* this.#waiting.splice(0);
      if (this.#waiting.length > 0) continue;
      if (this.#end) {
        if ("error" in this.#end) throw this.#end.error;
        return;
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

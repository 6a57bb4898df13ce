/**
 * Collects what happens in a run of a graph as runs of a trace: the graph, its nodes, its model and tool calls. It only
 * records references and times while the graph runs; the JSON is made once, at the end.
 */
import { BaseCallbackHandler, type HandleLLMNewTokenCallbackFields } from "@langchain/core/callbacks/base";
import type { DocumentInterface } from "@langchain/core/documents";
import type { Serialized } from "@langchain/core/load/serializable";
import type { BaseMessage } from "@langchain/core/messages";
import type { LLMResult } from "@langchain/core/outputs";
import type { ChainValues } from "@langchain/core/utils/types";
import { isGraphBubbleUp } from "@langchain/langgraph";
import { readUuidMillis } from "../lib/uuid.ts";
import { wireWithin } from "./wire.ts";

type Metadata = Record<string, unknown>;

/** The most time between the making of a run's id and its begin, milliseconds. */
const ID_BEFORE = 1_000;

interface Span {
  id: string;
  parent: string | undefined;
  name: string;
  runType: string;
  /** Microseconds: the clock's milliseconds, and the order of beginning below them. */
  start: number;
  end?: number;
  inputs: unknown;
  outputs?: unknown;
  error?: string;
  tags: string[];
  metadata: Metadata;
  invocation?: Metadata;
  firstToken?: number;
  /** Internal runs of LangGraph are left out. Their children belong to the nearest shown ancestor. */
  hidden: boolean;
}

/** The outcome of the trace's run. It is in the root's `extra.runtime`. */
export interface TracedRunFacts {
  status: string;
  /** Milliseconds from when it was due to its beginning, and to the first thing its graph gave. */
  queued_ms: number;
  first_event_ms?: number;
  /** Milliseconds from its beginning to its end. */
  took_ms: number;
}

/** The run, for a trace whose graph did not begin: it could not be made, or the process that ran it has stopped. */
export interface RootFacts {
  id: string;
  name: string;
  inputs: unknown;
  /** Milliseconds. */
  began: number;
}

export interface TraceEnd {
  run: TracedRunFacts;
  root: RootFacts;
  /** The run's error, for all spans that had not ended. */
  error?: string;
  project: string;
  referenceExampleId?: string;
}

const HIDDEN = "langsmith:hidden";
/** A run of a graph makes a few spans a step; past this the rest is not kept. */
const MAX_SPANS = 5_000;
/** Longer inputs or outputs are cut, characters: the texts of a trace wait in a row of SQLite. */
const MAX_PAYLOAD = 200_000;
const KEPT_PAYLOAD = 10_000;

/** LangChain's metadata of a call; for a model call also its parameters. */
type OfCall = [parent?: string, tags?: string[], metadata?: Metadata, name?: string];
type OfModel = [parent?: string, extra?: Metadata, tags?: string[], metadata?: Metadata, name?: string];

/** The name of a compiled graph whose author gave it none. */
const UNNAMED = "LangGraph";

export class Tracer extends BaseCallbackHandler {
  name = "WeirTracer";
  override awaitHandlers = true;
  #spans = new Map<string, Span>();
  #order = 0;

  /**
   * `given`: metadata of the whole run, which every span has. LangChain may pass only a part of it. `signal`: it is aborted when the run
   * is stopped.
   */
  constructor(
    private readonly given: Metadata = {},
    private readonly signal?: AbortSignal,
  ) {
    super();
  }

  override handleChainStart(
    chain: Serialized,
    inputs: ChainValues,
    runId: string,
    parent?: string,
    tags?: string[],
    metadata?: Metadata,
    runType?: string,
    name?: string,
  ): void {
    this.#begin(runId, parent, name ?? readName(chain), runType ?? "chain", inputs, tags, metadata);
  }

  override handleChainEnd(outputs: ChainValues, runId: string): void {
    this.#end(runId, outputs);
  }

  override handleChainError(error: unknown, runId: string): void {
    this.#fail(runId, error);
  }

  override handleChatModelStart(model: Serialized, messages: BaseMessage[][], runId: string, ...rest: OfModel): void {
    this.#beginModel(model, { messages }, runId, rest);
  }

  override handleLLMStart(model: Serialized, prompts: string[], runId: string, ...rest: OfModel): void {
    this.#beginModel(model, { prompts }, runId, rest);
  }

  override handleLLMNewToken(
    _token: string,
    _index: unknown,
    runId: string,
    _parent?: string,
    _tags?: string[],
    _fields?: HandleLLMNewTokenCallbackFields,
  ): void {
    const span = this.#spans.get(runId);
    if (span) span.firstToken ??= Date.now() * 1000;
  }

  override handleLLMEnd(output: LLMResult, runId: string): void {
    this.#end(runId, output);
  }

  override handleLLMError(error: unknown, runId: string): void {
    this.#fail(runId, error);
  }

  override handleToolStart(tool: Serialized, input: string, runId: string, ...rest: OfCall): void {
    const [parent, tags, metadata, name] = rest;
    this.#begin(runId, parent, name ?? readName(tool), "tool", parseInput(input), tags, metadata);
  }

  override handleToolEnd(output: unknown, runId: string): void {
    this.#end(runId, { output });
  }

  override handleToolError(error: unknown, runId: string): void {
    this.#fail(runId, error);
  }

  override handleRetrieverStart(retriever: Serialized, query: string, runId: string, ...rest: OfCall): void {
    const [parent, tags, metadata, name] = rest;
    this.#begin(runId, parent, name ?? readName(retriever), "retriever", { query }, tags, metadata);
  }

  override handleRetrieverEnd(documents: DocumentInterface[], runId: string): void {
    this.#end(runId, { documents });
  }

  override handleRetrieverError(error: unknown, runId: string): void {
    this.#fail(runId, error);
  }

  /** A call that has begun for the handlers is not made. */
  drop(id: string): void {
    this.#spans.delete(id);
  }

  /** When the trace began, microseconds; undefined when nothing has. */
  get began(): number | undefined {
    return this.#spans.values().next().value?.start;
  }

  /** What the model calls of this attempt gave. */
  get modelOutputs(): unknown[] {
    return [...this.#spans.values()].flatMap(({ runType, outputs }) => (runType === "llm" ? [outputs] : []));
  }

  /** The JSON text of each run of the trace, root first. What has not ended, ends now. */
  finish({ run, root, error, project, referenceExampleId }: TraceEnd): string[] {
    if (this.#spans.size === 0) this.#beginRoot(root);
    const now = Date.now() * 1000;
    const shown = [...this.#spans.values()].filter(({ hidden }) => !hidden);
    return shown.map((span) => {
      if (span.end === undefined) Object.assign(span, { end: now, error: span.error ?? error });
      const path = this.#listPath(span);
      const runtime = { library: "weir", ...(path.length === 1 && { run }) };
      const extra = { metadata: span.metadata, invocation_params: span.invocation, runtime };
      const light = {
        id: span.id,
        name: span.name,
        run_type: span.runType,
        session_name: project,
        start_time: span.start,
        end_time: span.end,
        first_token_time: span.firstToken,
        error: span.error,
        tags: span.tags,
        trace_id: path[0]?.id,
        parent_run_id: path.at(-2)?.id,
        dotted_order: path.map((part) => `${stamp(part.start)}${part.id}`).join("."),
        reference_example_id: path.length === 1 ? referenceExampleId : undefined,
      };
      const heavy = { inputs: object(span.inputs, "input"), outputs: object(span.outputs, "output"), extra };
      const fields = Object.entries(heavy).flatMap(([key, value]) =>
        value === undefined ? [] : [`"${key}":${payload(value)}`],
      );
      return `${JSON.stringify(light).slice(0, -1)},${fields.join(",")}}`;
    });
  }

  #beginModel(model: Serialized, inputs: object, runId: string, [parent, extra, tags, metadata, name]: OfModel): void {
    this.#begin(runId, parent, name ?? readName(model), "llm", inputs, tags, metadata, extra);
  }

  #begin(
    id: string,
    parent: string | undefined,
    name: string,
    runType: string,
    inputs: unknown,
    tags: string[] = [],
    told?: Metadata,
    extra?: Metadata,
  ): void {
    if (this.#spans.size >= MAX_SPANS || this.#spans.has(id)) return;
    const start = this.#findStart(id);
    const invocation = extra?.["invocation_params"] as Metadata | undefined;
    const hidden = tags.includes(HIDDEN) && parent !== undefined;
    const metadata = { ...this.given, ...told };
    const graphId = metadata["graph_id"];
    // A list of traces is not useful when every root has LangGraph's default name.
    const shown = parent === undefined && name === UNNAMED && typeof graphId === "string" ? graphId : name;
    this.#spans.set(id, { id, parent, name: shown, runType, start, inputs, tags, metadata, invocation, hidden });
  }

  /**
   * The time in the id, which is made as the run begins: such a run is found without an entry in the index of ids (traces/partition/store/ids.ts), and
   * ids of one millisecond are in the order in which they were made.
   */
  #findStart(id: string): number {
    const now = Date.now();
    const made = readUuidMillis(id);
    if (made !== undefined && Math.abs(now - made) <= ID_BEFORE) return made * 1000;
    return now * 1000 + (this.#order++ % 1000);
  }

  #beginRoot({ id, began, ...rest }: RootFacts): void {
    const own = { parent: undefined, runType: "chain", tags: [], metadata: this.given, hidden: false };
    this.#spans.set(id, { id, ...rest, ...own, start: began * 1000 });
  }

  #end(id: string, outputs: unknown): void {
    const span = this.#spans.get(id);
    if (span) Object.assign(span, { outputs, end: Math.max(span.start, Date.now() * 1000) });
  }

  /** A graph that pauses also throws; in traces this is no error. What a stop cuts off has the error of its run, or none: see `finish`. */
  #fail(id: string, error: unknown): void {
    if (this.signal?.aborted) return;
    this.#end(id, undefined);
    const span = this.#spans.get(id);
    if (span && !isGraphBubbleUp(error))
      span.error = error instanceof Error ? (error.stack ?? String(error)) : String(error);
  }

  /** The shown runs from the root to this one. */
  #listPath(span: Span): Span[] {
    const path: Span[] = [];
    for (let at: Span | undefined = span; at; at = at.parent === undefined ? undefined : this.#spans.get(at.parent)) {
      if (!at.hidden) path.unshift(at);
    }
    return path;
  }
}

function readName(serialized: Serialized): string {
  return serialized?.id?.at(-1) ?? "run";
}

function parseInput(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return { input };
  }
}

/** Inputs and outputs are objects in a trace; anything else goes under a key. */
function object(value: unknown, key: string): object | undefined {
  if (value === undefined) return undefined;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : { [key]: value };
}

function payload(value: object): string {
  try {
    return wireWithin(value, MAX_PAYLOAD, KEPT_PAYLOAD);
  } catch {
    // A cycle, or a value that cannot be JSON.
    return "{}";
  }
}

function stamp(micros: number): string {
  const millis = Math.floor(micros / 1000);
  const rest = String(micros - millis * 1000).padStart(3, "0");
  return `${new Date(millis).toISOString().replaceAll(/[-:.Z]/g, "")}${rest}Z`;
}

/** The shapes of `/graphs`. */
import * as v from "valibot";
import { Incompatibility } from "../../agents/graphs/compatibility.ts";
import { Count, choosing } from "../../http/shapes.ts";
import { DEEPEST, type GraphShape } from "../../runtime/introspect.ts";

const name = v.pipe(v.string(), v.maxLength(1_000));
const names = v.array(name);

/** Nested `depth` levels, since /openapi.json cannot refer to a type from within itself. */
function shapeTo(depth: number): v.GenericSchema<unknown, GraphShape> {
  return v.object({
    nodes: names,
    edges: names,
    channels: v.record(name, name),
    interrupts: names,
    subgraphs: depth === 0 ? v.strictObject({}) : v.record(name, shapeTo(depth - 1)),
  });
}

/** What a deployment says of a graph. */
const GraphDescription = v.object({
  /** Null where the graph cannot be made without the variables of its deployment: its threads are not compared then. */
  shape: v.nullable(shapeTo(DEEPEST)),
  /** The states that its migrations take: fingerprints, or versions of its module. */
  migrates: v.optional(names, []),
});

export const CheckGraphs = choosing({
  /** The graphs of the bundle to deploy, as `GET /graphs` of it answers. Default: the deployed ones. */
  graphs: v.optional(v.record(name, GraphDescription)),
  /** The most threads to read. */
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(500)), 200),
  /** The `next` of the page before. */
  after: v.optional(name),
});
export type CheckGraphs = v.InferOutput<typeof CheckGraphs>;
export type GraphsToCheck = NonNullable<CheckGraphs["graphs"]>;

/** A graph in answers. */
export type DescribedGraph = v.InferOutput<typeof DescribedGraph>;
export const DescribedGraph = v.object({
  /** Null for a graph that cannot be made here, with why in `error`. */
  shape: v.nullable(shapeTo(DEEPEST)),
  fingerprint: v.nullable(v.string()),
  version: v.nullable(v.string()),
  /** What its migrations take: fingerprints, or versions of its module. */
  migrates: v.array(v.string()),
  error: v.optional(v.string()),
});

/** A thread that cannot continue. */
const StuckThread = v.object({
  thread_id: v.string(),
  graph_id: v.string(),
  /** A sentence for each thing that is missing. */
  reasons: v.array(v.string()),
  breaks: v.array(Incompatibility),
});

const Counts = v.object({
  checked: Count,
  cannot_continue: Count,
  /** Those that a migration takes. */
  migrated: Count,
  /** Those of a graph whose shape is not known. */
  unknown: Count,
});

export type CheckPage = v.InferOutput<typeof CheckPage>;
export const CheckPage = v.object({
  counts: v.record(v.string(), Counts),
  threads: v.array(StuckThread),
  /** For the next page; null on the last one. */
  next: v.nullable(v.string()),
});

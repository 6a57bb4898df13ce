/** The shapes of `/graphs`. */
import * as v from "valibot";
import type { GraphShape } from "../runtime/shape.ts";

const name = v.pipe(v.string(), v.maxLength(1_000));
const names = v.array(name);

const Shape: v.GenericSchema<unknown, GraphShape> = v.object({
  nodes: names,
  edges: names,
  channels: v.record(name, name),
  interrupts: names,
  subgraphs: v.record(
    name,
    v.lazy(() => Shape),
  ),
});

/** What a deployment says of a graph. */
const GraphDescription = v.object({
  /** Null where the graph cannot be made without the variables of its deployment: its threads are not compared then. */
  shape: v.nullable(Shape),
  /** The states that its migrations take: fingerprints, or versions of its module. */
  migrates: v.optional(names, []),
});

export const CheckGraphs = v.object({
  /** The graphs of the bundle to deploy, as `GET /graphs` of it answers. */
  graphs: v.record(name, GraphDescription),
  /** The most threads to read. */
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(500)), 200),
  /** The `next` of the page before. */
  after: v.optional(name),
});
export type CheckGraphs = v.InferOutput<typeof CheckGraphs>;

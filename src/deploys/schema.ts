/** The shapes of `/graphs`. */
import * as v from "valibot";
import { choosing } from "../http/fields.ts";
import { DEEPEST, type GraphShape } from "../runtime/shape.ts";

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
  /** The graphs of the bundle to deploy, as `GET /graphs` of it answers. */
  graphs: v.record(name, GraphDescription),
  /** The most threads to read. */
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(500)), 200),
  /** The `next` of the page before. */
  after: v.optional(name),
});
export type CheckGraphs = v.InferOutput<typeof CheckGraphs>;

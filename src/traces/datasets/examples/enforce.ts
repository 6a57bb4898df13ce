/** Holds the bodies of examples to the schemas of their dataset. */
import { decodeJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { findBreach } from "../../../lib/json-schema.ts";
import { findSchemaFault } from "../../../lib/json-schema.ts";
import type { DatasetRow } from "../store.ts";

/** What checks the bodies of an example. Each is JSON; one that is left out is not checked. */
export type Enforce = (id: string, bodies: { inputs?: Uint8Array; outputs?: Uint8Array }) => void;

/** @throws Problem 422 (from what it gives) that names the body, the place in it, and the rule */
export function enforceSchemas({ inputsSchema, outputsSchema }: DatasetRow): Enforce {
  // A version before stored schemas that cannot be enforced.
  const schemas = Object.entries({ inputs: inputsSchema, outputs: outputsSchema }).filter(
    ([, schema]) => schema && findSchemaFault(schema) === undefined,
  ) as ["inputs" | "outputs", Record<string, unknown>][];
  return (id, bodies) => {
    for (const [name, schema] of schemas) {
      const json = bodies[name];
      const found = json && findBreach(schema, decodeJson(json));
      if (!found) continue;
      const at = [name, found.path].filter((part) => part !== "").join(".");
      throw new Problem(422, `Invalid example ${id}: ${at} ${found.rule}, by the dataset's ${name}_schema_definition.`);
    }
  };
}

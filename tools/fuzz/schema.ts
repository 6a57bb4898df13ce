/** Values from JSON schemas, mostly valid, with faults now and then. */
import type { Dice } from "./dice.ts";
import { pickHostileNumber, hostileObject, hostileText, hostileValue } from "./hostile.ts";
import { TEXTS } from "./texts.ts";
import type { Known } from "./world.ts";

export interface Schema {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  format?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  $ref?: string;
}

/** A value of the schema. `name` is the member's: ids and texts of some names are taken from existing data. */
export function generateValue(dice: Dice, schema: Schema, known: Known, name = "", depth = 0): unknown {
  if (dice.chance(dice.faulty)) return hostileValue(dice);
  const text = TEXTS[name];
  if (text && dice.chance(0.8)) return text(dice, known);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return dice.pick(schema.enum);
  const options = schema.anyOf ?? schema.oneOf;
  if (options)
    return generateValue(
      dice,
      options.length > 1 && dice.chance(0.8) ? (options[0] as Schema) : dice.pick(options),
      known,
      name,
      depth,
    );
  if (schema.allOf) {
    const parts = schema.allOf.map((one) => generateValue(dice, one, known, name, depth));
    return parts.every((part) => typeof part === "object") ? Object.assign({}, ...parts) : parts[0];
  }
  const type = Array.isArray(schema.type) ? dice.pick(schema.type) : schema.type;
  switch (type ?? "any") {
    case "object":
      return generateObject(dice, schema, known, depth);
    case "array": {
      const count = Math.max(schema.minItems ?? 0, dice.int(0, 3));
      return Array.from({ length: count }, () => generateValue(dice, schema.items ?? {}, known, name, depth + 1));
    }
    case "string":
      return generateText(dice, schema, known, name);
    case "number":
    case "integer":
      return generateNumber(dice, schema, name);
    case "boolean":
      return dice.chance(0.5);
    case "null":
      return null;
    default:
      return dice.chance(0.5) ? hostileValue(dice) : { messages: [{ role: "user", content: hostileText(dice) }] };
  }
}

function generateObject(
  dice: Dice,
  { properties = {}, required = [], additionalProperties }: Schema,
  known: Known,
  depth: number,
): object {
  const optional = depth === 0 ? 0.3 : 0.5;
  const members = Object.entries(properties)
    .filter(([name]) => (required.includes(name) ? !dice.chance(dice.faulty) : dice.chance(optional)))
    .map(([name, one]) => [name, generateValue(dice, one, known, name, depth + 1)] as const);
  const free = Object.keys(properties).length === 0 || dice.chance(0.05);
  const more = free && additionalProperties !== false ? hostileObject(dice) : {};
  return Object.defineProperties(Object.fromEntries(members), Object.getOwnPropertyDescriptors(more));
}

function generateText(dice: Dice, { format }: Schema, known: Known, name: string): string {
  if (format === "uuid") return known.id(dice, name);
  if (format === "date-time")
    return dice.pick(["2026-01-02T00:00:00Z", "2026-11-20T15:49:54.252+02:00", hostileText(dice)]);
  return dice.chance(0.5) ? known.id(dice, name) : hostileText(dice);
}

function generateNumber(dice: Dice, { type, minimum = 0, maximum = 1_000 }: Schema, name: string): number {
  // A run that is to begin in a year is waited for.
  if (name === "after_seconds") return dice.pick([0, 0.01, 1]);
  if (dice.chance(3 * dice.faulty)) return pickHostileNumber(dice);
  const most = Math.min(maximum, minimum + dice.pick([1, 10, 1_000, 1e9]));
  return type === "integer" ? dice.int(minimum, most) : minimum + dice.next() * (most - minimum);
}

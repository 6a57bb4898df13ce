/** The JSON Schemas that are enforced. A keyword that would be ignored, and its author takes for a rule, is refused. */
import * as v from "valibot";

const size = v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)));
const bound = v.optional(v.number());
const Type = v.picklist(["null", "boolean", "object", "array", "number", "integer", "string"]);

const Schema: v.GenericSchema = v.lazy((given) => (typeof given === "boolean" ? v.boolean() : Keywords));
const schema = v.optional(Schema);
const schemas = v.optional(v.pipe(v.array(Schema), v.minLength(1)));
const named = v.optional(v.record(v.string(), Schema));

/** These say what a value means, not what it may be. */
const describing = Object.fromEntries(
  `$schema $id $anchor $comment title description default examples format deprecated readOnly writeOnly contentEncoding
  contentMediaType`
    .split(/\s+/)
    .map((keyword) => [keyword, v.optional(v.unknown())]),
);

const Keywords = v.strictObject(
  {
    ...describing,
    type: v.optional(v.union([Type, v.array(Type)])),
    enum: v.optional(v.array(v.unknown())),
    const: v.optional(v.unknown()),
    minimum: bound,
    maximum: bound,
    exclusiveMinimum: bound,
    exclusiveMaximum: bound,
    multipleOf: v.optional(v.pipe(v.number(), v.gtValue(0))),
    minLength: size,
    maxLength: size,
    minItems: size,
    maxItems: size,
    minProperties: size,
    maxProperties: size,
    required: v.optional(v.array(v.string())),
    properties: named,
    additionalProperties: schema,
    prefixItems: schemas,
    items: schema,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    $ref: v.optional(v.pipe(v.string(), v.startsWith("#", "must refer to a part of the same schema"))),
    $defs: named,
    definitions: named,
  },
  (issue) => (issue.expected === "never" ? "is a keyword that is not enforced here" : issue.message),
);

/** Why a schema is refused; undefined for one that can be enforced. */
export function findSchemaFault(given: unknown): string | undefined {
  const { issues } = v.safeParse(Keywords, given);
  if (!issues) return undefined;
  const [{ message }] = issues;
  const rule = message.startsWith("Invalid ") ? "is no such value as JSON Schema has there" : message;
  return `${v.getDotPath(issues[0]) ?? "the schema"} ${rule}`;
}

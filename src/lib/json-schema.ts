/**
 * Checks values against a JSON Schema, drafts 7 to 2020-12. The usual validators compile a schema to code, which
 * Workers do not run. Those that interpret it have no bound on their steps, and alternatives within references double them: here a
 * budget counts each comparison.
 */
import { isObject } from "./json.ts";
import type { WorkBudget } from "./work-budget.ts";
import * as v from "valibot";

type Schema = Record<string, unknown>;

/** A place in a value that breaks the schema, as a dotted path, and the rule. */
export interface SchemaBreach {
  path: string;
  rule: string;
}

/** Characters of a text that are one step. */
const CHARACTERS = 16;
/** The most schemas within schemas. A reference to itself has no end. */
const MAX_DEPTH = 1_000;

interface Checking {
  check: (schema: unknown, value: unknown, path: string) => SchemaBreach | undefined;
  root: Schema;
  budget: WorkBudget;
}

type Assertion = (
  given: never,
  value: unknown,
  path: string,
  checking: Checking,
  schema: Schema,
) => SchemaBreach | undefined;

const toBreach = (path: string, rule: string): SchemaBreach => ({ path, rule });
const below = (path: string, key: string | number) => (path === "" ? String(key) : `${path}.${key}`);

function isSame(a: unknown, b: unknown, budget: WorkBudget): boolean {
  budget.spend(typeof a === "string" && typeof b === "string" && a.length === b.length ? 1 + a.length / CHARACTERS : 1);
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSame(item, b[i], budget));
  if (!isObject(a) || !isObject(b)) return false;
  const names = namesOf(a, budget);
  if (names.length !== namesOf(b, budget).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name], budget));
}

function namesOf(value: Schema, budget: WorkBudget): string[] {
  const names = Object.keys(value);
  budget.spend(names.length);
  return names;
}

function number(passes: (value: number, bound: number) => boolean, rule: string): Assertion {
  return (bound: number, value, path) =>
    typeof value === "number" && !passes(value, bound) ? toBreach(path, `${rule} ${bound}`) : undefined;
}

type Size = (value: unknown, budget: WorkBudget) => number | undefined;

function length(of: Size, isMost: boolean, what: string): Assertion {
  return (bound: number, value, path, { budget }) => {
    const size = of(value, budget);
    if (size === undefined || (isMost ? size <= bound : size >= bound)) return undefined;
    return toBreach(path, `must have at ${isMost ? "most" : "least"} ${bound} ${what}`);
  };
}

const SURROGATE_PAIR = /[\ud800-\udbff][\udc00-\udfff]/g;

/** JSON Schema counts code points. */
const characters: Size = (value, budget) => {
  if (typeof value !== "string") return undefined;
  budget.spend(value.length / CHARACTERS);
  return value.length - (value.match(SURROGATE_PAIR)?.length ?? 0);
};
const items: Size = (value) => (Array.isArray(value) ? value.length : undefined);
const members: Size = (value, budget) => (isObject(value) ? namesOf(value, budget).length : undefined);

function isOfType(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function findFirst<T>(list: T[], find: (item: T, index: number) => SchemaBreach | undefined): SchemaBreach | undefined {
  for (const [index, item] of list.entries()) {
    const found = find(item, index);
    if (found) return found;
  }
  return undefined;
}

const countPassing = (schemas: unknown[], value: unknown, path: string, { check }: Checking) =>
  schemas.filter((schema) => check(schema, value, path) === undefined).length;

const ASSERTIONS: Record<string, Assertion> = {
  type: (given: string | string[], value, path) =>
    [given].flat().some((type) => isOfType(type, value))
      ? undefined
      : toBreach(path, `must be ${[given].flat().join(" or ")}`),
  enum: (given: unknown[], value, path, { budget }) =>
    given.some((one) => isSame(one, value, budget)) ? undefined : toBreach(path, "must be one of the values of enum"),
  const: (given: unknown, value, path, { budget }) =>
    isSame(given, value, budget) ? undefined : toBreach(path, "must be the value of const"),
  minimum: number((value, bound) => value >= bound, "must be at least"),
  maximum: number((value, bound) => value <= bound, "must be at most"),
  exclusiveMinimum: number((value, bound) => value > bound, "must be greater than"),
  exclusiveMaximum: number((value, bound) => value < bound, "must be less than"),
  multipleOf: number((value, bound) => Number.isInteger(value / bound), "must be a multiple of"),
  minLength: length(characters, false, "characters"),
  maxLength: length(characters, true, "characters"),
  minItems: length(items, false, "items"),
  maxItems: length(items, true, "items"),
  minProperties: length(members, false, "members"),
  maxProperties: length(members, true, "members"),
  required: (given: string[], value, path, { budget }) => {
    if (!isObject(value)) return undefined;
    budget.spend(given.length);
    return findFirst(given, (name) =>
      Object.hasOwn(value, name) ? undefined : toBreach(below(path, name), "is required"),
    );
  },
  properties: (given: Schema, value, path, { check, budget }) =>
    isObject(value)
      ? findFirst(namesOf(given, budget), (name) =>
          Object.hasOwn(value, name) ? check(given[name], value[name], below(path, name)) : undefined,
        )
      : undefined,
  additionalProperties: (given: unknown, value, path, { check, budget }, { properties }) => {
    if (!isObject(value)) return undefined;
    const others = namesOf(value, budget).filter((name) => !(isObject(properties) && Object.hasOwn(properties, name)));
    return findFirst(others, (name) => check(given, value[name], below(path, name)));
  },
  prefixItems: (given: unknown[], value, path, { check }) =>
    Array.isArray(value)
      ? findFirst(given.slice(0, value.length), (schema, index) => check(schema, value[index], below(path, index)))
      : undefined,
  items: (given: unknown, value, path, { check }, { prefixItems }) => {
    if (!Array.isArray(value)) return undefined;
    const from = Array.isArray(prefixItems) ? prefixItems.length : 0;
    return findFirst(value, (item, index) => (index < from ? undefined : check(given, item, below(path, index))));
  },
  allOf: (given: unknown[], value, path, { check }) => findFirst(given, (schema) => check(schema, value, path)),
  anyOf: (given: unknown[], value, path, checking) =>
    countPassing(given, value, path, checking) > 0 ? undefined : toBreach(path, "must pass one of anyOf"),
  oneOf: (given: unknown[], value, path, checking) =>
    countPassing(given, value, path, checking) === 1 ? undefined : toBreach(path, "must pass exactly one of oneOf"),
  not: (given: unknown, value, path, { check }) =>
    check(given, value, path) ? undefined : toBreach(path, "must not pass not"),
  $ref: (given: string, value, path, { check, root }) => check(resolveReference(root, given), value, path),
};

/**
 * What the value breaks first; undefined for one that passes. Keywords that are not known break nothing.
 * @throws Problem 422 past the budget, which all values of a request share
 */
export function findSchemaBreach(root: Schema, value: unknown, budget: WorkBudget): SchemaBreach | undefined {
  let depth = 0;
  const check = (schema: unknown, one: unknown, path: string): SchemaBreach | undefined => {
    if (schema === false) return toBreach(path, "is not allowed");
    if (!isObject(schema)) return undefined;
    if (depth >= MAX_DEPTH) return toBreach(path, `nests deeper than ${MAX_DEPTH} schemas`);
    budget.spend(1);
    depth++;
    try {
      return findFirst(namesOf(schema, budget), (keyword) =>
        Object.hasOwn(ASSERTIONS, keyword)
          ? ASSERTIONS[keyword]?.(schema[keyword] as never, one, path, { check, root, budget }, schema)
          : undefined,
      );
    } finally {
      depth--;
    }
  };
  return check(root, value, "");
}

/** What a reference in the same document points to (RFC 6901); undefined for none. */
function resolveReference(root: Schema, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  let found: unknown = root;
  for (const segment of reference.split("/").slice(1)) {
    const name = decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

// The JSON Schemas that are enforced. A keyword that would be ignored, and its author takes for a rule, is refused.

const size = v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)));
const bound = v.optional(v.number());
const Type = v.picklist(["null", "boolean", "object", "array", "number", "integer", "string"]);

const EnforcedSchema: v.GenericSchema = v.lazy((given) => (typeof given === "boolean" ? v.boolean() : Keywords));
const schema = v.optional(EnforcedSchema);
const schemas = v.optional(v.pipe(v.array(EnforcedSchema), v.minLength(1)));
const named = v.optional(v.record(v.string(), EnforcedSchema));

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

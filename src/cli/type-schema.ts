/** A TypeScript type as JSON Schema. The types are plain: what JSON can hold, and no class but `Date`. */
import { ts } from "@ts-morph/common";

export type JsonSchema = Record<string, unknown>;

/** Tags of a comment that say more of a value. Their text is JSON, or a text. */
const TAGS = new Set(
  `$comment contentEncoding contentMediaType default deprecated description enum examples exclusiveMaximum exclusiveMinimum format
  maxItems maxLength maximum minItems minLength minimum multipleOf pattern title type uniqueItems`.split(/\s+/),
);

const { TypeFlags } = ts;

/** The schema of a type. `undefined` and `never` have none. */
export function typeSchema(checker: ts.TypeChecker, type: ts.Type): JsonSchema | undefined {
  const { flags } = type;
  if (flags & (TypeFlags.Undefined | TypeFlags.Void | TypeFlags.Never)) return undefined;
  if (flags & (TypeFlags.Any | TypeFlags.Unknown)) return {};
  if (flags & TypeFlags.Boolean) return { type: "boolean" };
  if (type.isUnion()) return unionSchema(checker, type.types);
  // A text with a brand is a text.
  if (type.isIntersection() && type.types.some(isPrimitive))
    return typeSchema(checker, type.types.find(isPrimitive) as ts.Type);
  const literal = literalOf(type);
  if (literal !== undefined) return { type: typeof literal, const: literal };
  if (flags & TypeFlags.TemplateLiteral) return { type: "string", pattern: patternOf(type as ts.TemplateLiteralType) };
  if (flags & TypeFlags.StringLike) return { type: "string" };
  if (flags & TypeFlags.NumberLike) return { type: "number" };
  if (flags & TypeFlags.Null) return { type: "null" };
  if (type.symbol?.name === "Date") return { type: "string", format: "date-time" };
  if (checker.isArrayType(type) || checker.isTupleType(type)) {
    const items = checker.getIndexTypeOfType(type, ts.IndexKind.Number);
    return { type: "array", items: (items && typeSchema(checker, items)) ?? {} };
  }
  return objectSchema(checker, type);
}

const isPrimitive = ({ flags }: ts.Type): boolean =>
  (flags & (TypeFlags.StringLike | TypeFlags.NumberLike | TypeFlags.BooleanLike)) !== 0;

function literalOf(type: ts.Type): string | number | boolean | undefined {
  if (type.isStringLiteral() || type.isNumberLiteral()) return type.value;
  if (!(type.flags & TypeFlags.BooleanLiteral)) return undefined;
  return (type as ts.Type & { intrinsicName: string }).intrinsicName === "true";
}

const patternOf = ({ texts }: ts.TemplateLiteralType): string =>
  `^${texts.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*")}$`;

/** Literals are one `enum`, and types that say nothing else are one list. */
function unionSchema(checker: ts.TypeChecker, types: ts.Type[]): JsonSchema | undefined {
  const schemas = types.map((type) => typeSchema(checker, type)).filter((schema) => schema !== undefined);
  const literals = schemas.flatMap((schema) => ("const" in schema ? [schema.const] : []));
  const isSimple = (schema: JsonSchema) => Object.keys(schema).join() === "type";
  const simple = schemas.filter(isSimple).map(({ type }) => type);
  const others = schemas.filter((schema) => !("const" in schema) && !isSimple(schema));
  const isBoolean = literals.includes(true) && literals.includes(false);
  const left = isBoolean ? literals.filter((value) => typeof value !== "boolean") : literals;
  if (isBoolean) simple.push("boolean");
  const [kind, ...kinds] = new Set(left.map((value) => typeof value));
  const values = left.length > 1 ? { enum: left.toSorted(compareJson) } : { const: left[0] };
  const all = [
    ...others,
    ...(left.length > 0 ? [{ ...(kinds.length === 0 && { type: kind }), ...values }] : []),
    ...(simple.length > 0 ? [{ type: simple.length > 1 ? [...new Set(simple)] : simple[0] }] : []),
  ];
  return all.length > 1 ? { anyOf: all } : all[0];
}

const compareJson = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : 1);

function objectSchema(checker: ts.TypeChecker, type: ts.Type): JsonSchema {
  const properties: [string, JsonSchema][] = [];
  const required: string[] = [];
  for (const property of checker.getPropertiesOfType(type)) {
    const held = checker.getTypeOfSymbol(property);
    const schema = typeSchema(checker, held);
    if (!schema) continue;
    properties.push([property.name, { ...describe(checker, property), ...schema }]);
    const may = held.isUnion() ? held.types : [held];
    const isOptional = may.some(({ flags }) => flags & (TypeFlags.Undefined | TypeFlags.Void));
    if (!isOptional && !(property.flags & ts.SymbolFlags.Optional)) required.push(property.name);
  }
  const others = checker.getIndexTypeOfType(type, ts.IndexKind.String);
  return {
    type: "object",
    ...(properties.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required: required.toSorted() }),
    ...(others && { additionalProperties: typeSchema(checker, others) ?? {} }),
  };
}

/** What the comment of a member says. */
function describe(checker: ts.TypeChecker, member: ts.Symbol): JsonSchema {
  const description = ts.displayPartsToString(member.getDocumentationComment(checker)).trim();
  const tags = member
    .getJsDocTags(checker)
    .filter(({ name }) => TAGS.has(name))
    .map(({ name, text }) => [name, readTag(ts.displayPartsToString(text))] as const);
  return { ...(description && { description }), ...Object.fromEntries(tags) };
}

function readTag(text: string): unknown {
  if (text === "") return true;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

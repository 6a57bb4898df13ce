/** A small value that a JSON Schema accepts: the fake provider's answer to a request for structured output. */

type Schema = Record<string, unknown>;

/** Deeper than this, optional members are left out: a schema may contain itself. */
const DEPTH = 8;

export function sample(schema: unknown, root: Schema = schema as Schema, depth = 0): unknown {
  if (typeof schema !== "object" || schema === null) return "text";
  const given = schema as Schema;
  if (typeof given.$ref === "string") return sample(resolveRef(given.$ref, root), root, depth + 1);
  if ("const" in given) return given.const;
  if (Array.isArray(given.enum)) return given.enum[0];
  const choice = [given.anyOf, given.oneOf].find(Array.isArray) as unknown[] | undefined;
  if (choice) return sample(choice[0], root, depth + 1);
  if (Array.isArray(given.allOf)) return Object.assign({}, ...given.allOf.map((one) => sample(one, root, depth + 1)));
  const type = Array.isArray(given.type) ? given.type[0] : given.type;
  if (type === "object" || given.properties) return object(given, root, depth);
  if (type === "array") return depth > DEPTH ? [] : [sample(given.items, root, depth + 1)];
  if (type === "number" || type === "integer") return given.minimum ?? given.exclusiveMinimum ?? 1;
  if (type === "boolean") return true;
  return type === "null" ? null : "text";
}

function object({ properties = {}, required }: Schema, root: Schema, depth: number): unknown {
  const wanted = depth > DEPTH && Array.isArray(required) ? (required as string[]) : undefined;
  const entries = Object.entries(properties as Record<string, unknown>).filter(
    ([key]) => !wanted || wanted.includes(key),
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, sample(value, root, depth + 1)]));
}

function resolveRef(ref: string, root: Schema): unknown {
  let at: unknown = root;
  for (const part of ref.replace(/^#\/?/, "").split("/").filter(Boolean)) at = (at as Schema | undefined)?.[part];
  return at;
}

/** Request validation: one valibot schema refuses bad input and documents the route in /openapi.json. */
import type { MiddlewareHandler, ValidationTargets } from "hono";
import { resolver, uniqueSymbol } from "hono-openapi";
import * as v from "valibot";
import { decodeJson, isObject, NESTING, nestsDeeper } from "../lib/json.ts";
import { type BodyFault, Problem } from "../lib/problem.ts";

// Finds the known name that a misspelt one means.

/** The known name that differs from `given` by case, by separators, or by one letter in a name of six or more; undefined when none does. */
export function suggestName(given: string, known: readonly string[]): string | undefined {
  if (known.includes(given)) return undefined;
  const word = normaliseName(given);
  return known.find((name) => distance(word, normaliseName(name)) <= (normaliseName(name).length < 6 ? 0 : 1));
}

const normaliseName = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, "");

/** How many letters to insert, delete or replace (Levenshtein). */
function distance(a: string, b: string): number {
  // A name that is longer by more than any tolerance needs no comparison.
  if (Math.abs(a.length - b.length) > 4) return Infinity;
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [row, letter] of a.split("").entries()) {
    const current = [row + 1];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (letter === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    above = current;
  }
  return above[b.length] ?? 0;
}

type Schema = v.GenericSchema<unknown, unknown>;
type Validated<T extends keyof ValidationTargets, S extends Schema> = MiddlewareHandler<
  // oxlint-disable-next-line typescript/no-explicit-any -- the environment of any app
  any,
  string,
  { in: { [K in T]: v.InferInput<S> }; out: { [K in T]: v.InferOutput<S> } }
>;

/** Parses `value` by `schema`, or throws a 422 that names each fault's path and rule, and no value. */
export function parse<S extends Schema>(schema: S, value: unknown, where: string): v.InferOutput<S> {
  // valibot takes a list for an object.
  if (Array.isArray(value) && schema.type.endsWith("object")) {
    throw new Problem(422, `Invalid ${where}: expected a JSON object, not a list.`);
  }
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const errors: BodyFault[] = result.issues.slice(0, 20).map((issue) => ({
    path: v.getDotPath(issue) ?? "",
    message: describe(issue),
  }));
  const first = errors[0];
  const at = first?.path ? `${where}.${first.path}` : where;
  throw new Problem(422, `Invalid ${at}: ${first?.message ?? "does not match the schema"}`, { errors });
}

function describe({ message, expected, type }: v.BaseIssue<unknown>): string {
  // A schema's own message says the rule; valibot's default one may quote the value.
  if (!message.startsWith("Invalid ")) return message;
  if (expected === null) return `fails the rule "${type}"`;
  if (expected === "never") return "is not known here";
  // An object's issue about a member that is not there expects its name.
  return type.endsWith("object") && expected.startsWith('"') ? "is required" : `expected ${expected}`;
}

/** Reads the body up to `limit` bytes. 413 past it. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  const length = request.headers.get("content-length");
  if (length === null) return readCounted(request.body, limit);
  if (Number(length) > limit) throw tooLarge(limit);
  // One call for the whole body, which costs less than one for each chunk. HTTP holds a body to its declared length.
  const bytes = await request.bytes();
  if (bytes.byteLength > limit) throw tooLarge(limit);
  return bytes;
}

const tooLarge = (limit: number) => new Problem(413, `The request body is larger than ${limit} bytes.`);

/** Reads up to `limit` bytes, counted while they arrive. 413 past them. */
export async function readCounted(body: Request["body"], limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // What is left past the limit stays readable: `drainBody` (middleware.ts) reads it.
  for await (const chunk of body?.values({ preventCancel: true }) ?? []) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/** Reads a copy of the request. The request keeps its body. */
export async function readCopy<T>(request: Request, read: (copy: Request) => Promise<T>): Promise<T> {
  const copy = request.clone();
  try {
    return await read(copy);
  } catch (error) {
    // A copy that is not read to its end holds in memory what `drainBody` (middleware.ts) reads of the request. One that was read is locked.
    await copy.body?.cancel().catch(() => undefined);
    throw error;
  }
}

/** Default limit of a JSON body, bytes. */
export const BODY_LIMIT = 8 * 1024 * 1024;

/**
 * The body as JSON. An absent body reads as `{}`, as the Agent Server's clients expect. With `isExact`, integers past 2^53 are
 * `ExactNumber`s.
 */
export async function readJson(request: Request, limit = BODY_LIMIT, isExact = false): Promise<unknown> {
  const bytes = await readBody(request, limit);
  if (bytes.byteLength === 0) return {};
  const type = request.headers.get("content-type") ?? "application/json";
  if (!/^(application\/([\w.-]+\+)?json|text\/plain)\b/i.test(type)) {
    throw new Problem(415, `Send the body as application/json, not as ${type.split(";")[0]}.`);
  }
  const value = decodeJson(bytes, isExact);
  if (value === undefined) throw new Problem(400, "Malformed JSON in request body.");
  if (nestsDeeper(value)) throw new Problem(422, `Invalid body: nests deeper than ${NESTING} levels.`);
  return value;
}

/**
 * Validates the JSON body; read it with `c.req.valid("json")`. Unknown members are ignored, as newer clients send them.
 * With `members`, an unknown one that resembles one of these names is a 422 that says which one is meant. With `exact`, integers
 * past 2^53 keep their digits, as `ExactNumber`s: for what is stored, and given back or compared.
 */
export function body<S extends Schema>(
  schema: S,
  { limit, members, exact }: { limit?: number; members?: readonly string[]; exact?: true } = {},
): Validated<"json", S> {
  const middleware: Validated<"json", S> = async (c, next) => {
    const given = await readJson(c.req.raw, limit, exact);
    if (members) checkSpelling(given, members);
    const value = parse(schema, given, "body");
    c.req.addValidatedData("json", value as object);
    await next();
  };
  return Object.assign(middleware, { [uniqueSymbol]: { target: "json", ...resolver(schema) } });
}

/** Lists are not checked: `createBatch` of the JavaScript SDK sends its callers' camel case beside `assistant_id`. */
function checkSpelling(given: unknown, members: readonly string[]): void {
  for (const path of isObject(given) ? Object.keys(given) : []) {
    const meant = suggestName(path, members);
    if (meant === undefined) continue;
    const message = `is not known; use ${meant}`;
    throw new Problem(422, `Invalid body.${path}: ${message}`, { errors: [{ path, message }] });
  }
}

/**
 * Validates the query string; read it with `c.req.valid("query")`. Repeated names arrive as arrays. A parameter with an
 * empty value is absent: the Python SDK sends `?stream_mode=` for an argument that its caller leaves out.
 */
export function query<S extends Schema>(schema: S): Validated<"query", S> {
  const middleware: Validated<"query", S> = async (c, next) => {
    const raw: Record<string, string | string[]> = {};
    for (const [name, given] of Object.entries(c.req.queries())) {
      const [first, ...others] = given.filter((value) => value !== "");
      if (first !== undefined) raw[name] = others.length > 0 ? [first, ...others] : first;
    }
    c.req.addValidatedData("query", parse(schema, raw, "query") as object);
    await next();
  };
  return Object.assign(middleware, { [uniqueSymbol]: { target: "query", ...resolver(schema) } });
}

/** Validates the path's parameters; read them with `c.req.valid("param")`. An id of no valid shape is a 422. */
export function param<S extends Schema>(schema: S): Validated<"param", S> {
  const middleware: Validated<"param", S> = async (c, next) => {
    const named = c.get("threadId") as string | undefined;
    const given = named === undefined ? c.req.param() : { ...c.req.param(), thread_id: named };
    c.req.addValidatedData("param", parse(schema, given, "path") as object);
    await next();
  };
  return Object.assign(middleware, { [uniqueSymbol]: { target: "param", ...resolver(schema) } });
}

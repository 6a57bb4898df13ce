/** Requests from /openapi.json: every operation, with values of its schemas. */
import { gzipSync } from "node:zlib";
import type { Dice } from "./dice.ts";
import { someHeaders } from "./headers.ts";
import { damageText, hostileText, hostileValue } from "./hostile.ts";
import { type FuzzRequest, toJson } from "./request.ts";
import { type Schema, generateValue } from "./schema.ts";
import type { Actor } from "./world.ts";

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: Schema;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}
export interface Described {
  method: string;
  path: string;
  operation: Operation;
}

/** The operations that the server describes, in a fixed order. */
export async function fetchOperations(url: string): Promise<Described[]> {
  const described = await fetch(`${url}/openapi.json`);
  const { paths } = await described.json<{ paths: Record<string, Record<string, Operation>> }>();
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    )
    .sort((a, b) => (`${a.method} ${a.path}` < `${b.method} ${b.path}` ? -1 : 1));
}

export function fromOperation(dice: Dice, operations: Described[], actor: Actor): FuzzRequest {
  const { method, path, operation } = dice.pick(operations);
  const { parameters = [], requestBody } = operation;
  const schema = requestBody?.content["application/json"]?.schema;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeText(dice, actor.known.id(dice, name)));
  const query = generateQuery(dice, parameters, actor);
  const headers = { ...actor.headers, ...someHeaders(dice) };
  const verb = dice.chance(0.02) ? dice.pick(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]) : method;
  const request = { kind: "openapi", actor: actor.name, method: verb, path: filled + query, headers };
  if (verb === "GET" || verb === "HEAD") return request;
  if (!schema && !dice.chance(0.3)) return request;
  return {
    ...request,
    ...encodeBody(dice, schema ? generateValue(dice, schema, actor.known) : hostileValue(dice), headers),
  };
}

/** A value as a body: nearly always JSON, now and then damaged, compressed, or of another type than it says. */
export function encodeBody(
  dice: Dice,
  value: unknown,
  headers: Record<string, string>,
): Pick<FuzzRequest, "body" | "headers"> {
  const text = toJson(value);
  const json = { ...headers, "content-type": "application/json" };
  const kind = dice.next();
  if (kind < 0.9) return { headers: json, body: text };
  if (kind < 0.95) return { headers: json, body: damageText(dice, text) };
  if (kind < 0.97) return { headers: { ...json, "content-encoding": "gzip" }, body: gzipSync(text) };
  if (kind < 0.98) return { headers: json, body: Buffer.from([0xff, 0xfe, 0x7b, 0x00, dice.int(0, 255)]) };
  return {
    headers: {
      ...headers,
      "content-type": dice.pick(["text/html", "application/xml", "x", "application/json;charset=utf-16"]),
    },
    body: text,
  };
}

function generateQuery(dice: Dice, parameters: Parameter[], { known }: Actor): string {
  const query = parameters.filter((one) => one.in === "query");
  const given = query.filter((one) => dice.chance(one.required ? 0.97 : 0.25));
  const pairs = given.flatMap(({ name, schema }): string[] => {
    const value = generateValue(dice, schema, known, name);
    const values = Array.isArray(value) ? value : [value];
    return values.slice(0, 20).map((one) => `${name}=${encodeText(dice, typeof one === "string" ? one : toJson(one))}`);
  });
  if (dice.chance(0.02)) pairs.push(`${encodeText(dice, hostileText(dice))}=${encodeText(dice, hostileText(dice))}`);
  return pairs.length > 0 ? `?${pairs.join("&").slice(0, 12_000)}` : "";
}

/** Percent-encoded, rarely not as it must be. What no request line can hold is always encoded. */
function encodeText(dice: Dice, text: string): string {
  if (dice.chance(0.97)) return encodeURIComponent(text.toWellFormed());
  return text.replaceAll(/[^!-~]|[?#&]/g, (character) => encodeURIComponent(character.toWellFormed()));
}

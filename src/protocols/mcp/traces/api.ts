/**
 * Calls of this server's own routes, as a tool makes them. They go through the application on behalf of the caller of the tool: its
 * permissions, the shapes of requests and the audit trail are those of a request from outside.
 */
import type { Context } from "hono";
import { idempotentId, type App } from "../../../http/context.ts";
import { Problem } from "../../../lib/problem.ts";
import { callOwn } from "../../../http/loopback.ts";

/** The most bytes of an answer that a tool keeps in memory. */
const MAX_BYTES = 4 * 1024 * 1024;
/** The headers that the audit trail records. */
const PASSED = ["user-agent", "cf-connecting-ip"];

export interface ServerApi {
  get<T>(path: string, query?: Query): Promise<T>;
  /** Reading that needs a body. */
  query<T>(path: string, body: object): Promise<T>;
  /** A change. Repeated under the Idempotency-Key of the tool's call it is made once. A tool changes each path once. */
  change<T>(path: string, body: object): Promise<T>;
  /** The answer unread. */
  open(path: string, query?: Query): Promise<Response>;
}

interface Init {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

type Query = Record<string, string | number | readonly string[] | undefined>;

/** `callId`: the id of the JSON-RPC request, because one POST may have several. */
export function connectApi(c: Context<App>, callId: string): ServerApi {
  const on = { env: c.env, principal: c.get("principal") };
  const passed: Record<string, string> = {};
  for (const name of PASSED) {
    const value = c.req.header(name);
    if (value !== undefined) passed[name] = value;
  }
  const open = async (path: string, init: Init = {}) => {
    const headers = { ...passed, ...init.headers };
    const response = await callOwn(on, path, { ...init, headers });
    if (!response.ok) throw await problemIn(response);
    return response;
  };
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    open(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  return {
    open: (path, query) => open(withQuery(path, query)),
    get: async (path, query) => readJson(await open(withQuery(path, query))),
    query: async (path, body) => readJson(await post(path, body)),
    change: async (path, body) => {
      const key = c.get("idempotency") && idempotentId(c, `${callId} ${path}`);
      return readJson(await post(path, body, key ? { "idempotency-key": key } : {}));
    },
  };
}

function withQuery(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name, String(one)] as [string, string]),
  );
  return pairs.length > 0 ? `${path}?${new URLSearchParams(pairs).toString()}` : path;
}

async function readJson<T>(response: Response): Promise<T> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES)
      throw new Problem(
        413,
        `The answer is larger than ${MAX_BYTES} bytes. Choose less, or read a part with offset and length.`,
      );
    chunks.push(chunk);
  }
  return (size === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())) as T;
}

async function problemIn(response: Response): Promise<Problem> {
  const { detail } = await response.json<{ detail?: string }>().catch(() => ({ detail: undefined }));
  return new Problem(response.status as Problem["status"], detail ?? "The call failed.");
}

// Text for a model: each value is cut, and says what was left out.

/** The most characters of a tool's result. */
export const MAX_CHARACTERS = 24_000;

/** One line of at most `most` characters. */
export function oneLine(text: string, most: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** A value as compact JSON, and a text as itself, cut to `most` characters. */
export function cutValue(value: unknown, most: number): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  return text.length > most ? `${text.slice(0, most)}… (${text.length} characters)` : text;
}

/** Lines up to `MAX_CHARACTERS`. `rest` says how to read the lines that are left out. */
export function joinLines(lines: string[], rest: string): string {
  let size = 0;
  const end = lines.findIndex((line) => (size += line.length + 1) > MAX_CHARACTERS);
  return end < 0
    ? lines.join("\n")
    : [...lines.slice(0, end), `… ${lines.length - end} more lines. ${rest}`].join("\n");
}

/** A part of a text, and where the next part begins. */
export function formatPart(part: string, offset: number, total: number): string {
  const end = offset + part.length;
  const next = end < total ? ` The next part has offset ${end}.` : "";
  return `${part}\n[characters ${offset} to ${end} of ${total}.${next}]`;
}

export interface RunFigures {
  status: string;
  latency_seconds?: number | null;
  total_tokens?: number | null;
  total_cost?: number | null;
}

/** `error, 1.5 s, 300 tokens, $0.001`; without what is not known. */
export function formatFigures({ status, latency_seconds, total_tokens, total_cost }: RunFigures): string {
  const seconds = latency_seconds ?? undefined;
  const parts = [
    status.toLowerCase(),
    seconds === undefined ? "" : `${Number(seconds.toFixed(3))} s`,
    total_tokens ? `${total_tokens} tokens` : "",
    total_cost ? `$${total_cost}` : "",
  ];
  return parts.filter(Boolean).join(", ");
}

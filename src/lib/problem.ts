/** Errors as HTTP answers: RFC 9457 problem details whose `detail` LangGraph and LangSmith clients read. */
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { logError } from "./log.ts";
import { type Outage, findOutage } from "./retry.ts";

const TITLES: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  426: "Upgrade Required",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
};

/** One fault of a request: where (a dotted path) and what the rule is. Never the offending value. */
export interface BodyFault {
  path: string;
  message: string;
}

/**
 * The one error type of the HTTP surface. `detail` says what is wrong and how to fix it;
 * it must never contain a secret or the request's own values of secret fields.
 */
export class Problem extends Error {
  constructor(
    readonly status: ContentfulStatusCode,
    readonly detail: string,
    /** `code`: what programs match, where a status has several causes. */
    readonly more: { errors?: BodyFault[]; headers?: Record<string, string>; code?: string } = {},
  ) {
    super(detail);
    this.name = "Problem";
  }
}

/**
 * `application/problem+json` with `type`, `title`, `status`, `detail`, `message`, for some errors `code` and, for a failed schema,
 * `errors`. `message` is what the LangGraph SDKs say of the Agent Server's errors: they show the body, and Python's its `message`.
 */
export function problemResponse({ status, detail, more }: Problem): Response {
  const title = TITLES[status] ?? "Error";
  const message = `HTTP ${status}: ${detail}`;
  const body = { type: "about:blank", title, status, detail, code: more.code, message, errors: more.errors };
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...more.headers, "content-type": "application/problem+json" },
  });
}

/**
 * Converts any thrown value to a `Problem`. A Problem that crossed a Durable Object's RPC boundary keeps only
 * its name and message there, so it travels as `Problem:<status>[.<code>]:<detail>` (see `remoteProblem`).
 */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof HTTPException) return new Problem(error.status, error.message);
  const remote = error instanceof Error ? /^Problem:(\d{3})(?:\.(\w+))?:([\s\S]*)$/.exec(error.message) : null;
  if (isTooLarge(error)) return new Problem(413, TOO_LARGE);
  if (isRefusedByD1(error)) return new Problem(413, TOO_BIG_FOR_D1);
  if (remote) return remoteResponse(Number(remote[1]) as ContentfulStatusCode, remote[3] ?? "", remote[2]);
  const outage = findOutage(error);
  if (outage) return unavailable(outage);
  logError(error);
  return new Problem(500, "The server failed to handle this request. It has been logged.");
}

function remoteResponse(status: ContentfulStatusCode, detail: string, code: string | undefined): Problem {
  return new Problem(status, detail, { code, ...(status === 503 && { headers: { "retry-after": "1" } }) });
}

/** 503 with `Retry-After` in seconds. The SDKs of LangGraph and LangSmith repeat such a request. */
function unavailable(outage: Outage): Problem {
  const [seconds, detail] = UNAVAILABLE[outage];
  return new Problem(503, detail, { headers: { "retry-after": seconds } });
}

const UNAVAILABLE: Record<Outage, [seconds: string, detail: string]> = {
  restarted: ["1", "The server restarted while it handled this request, and may have carried it out. Send it again."],
  overloaded: ["5", "Too many requests for the same data at once. Send this one again later."],
};

const TOO_LARGE =
  "The answer would be larger than 32 MiB, too large for one response. Read a thread's history or its streams, which are paged.";

const TOO_BIG_FOR_D1 =
  "This request stores or searches for more than one record holds: 2,000,000 bytes in all, each text in UTF-8. Send less.";

/**
 * Whether D1 refused a value or a row because of its size. It has stored nothing then, for statements and batches are atomic.
 * Drizzle's error has D1's own as its cause.
 */
function isRefusedByD1(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message.includes("D1_ERROR: string or blob too big") || isRefusedByD1(error.cause);
}

/** Whether an object's answer was longer than the platform sends from one object to another. */
function isTooLarge(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Serialized RPC arguments or return values are limited to");
}

/** The error to throw inside a Durable Object method, so that `toProblem` finds its status on the other side. */
export function remoteProblem(status: ContentfulStatusCode, detail: string, code?: string): Error {
  return new Error(`Problem:${status}${code === undefined ? "" : `.${code}`}:${detail}`);
}

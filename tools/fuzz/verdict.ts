/** What is wrong with an answer. */
import type { FuzzRequest } from "./request.ts";
import { type Answer, HANG_MS } from "./send.ts";

/** What a fault of the server says in every dialect (lib/problem.ts), and what must never reach a client. */
const INTERNAL =
  /The server failed to handle this request|"unknown_error"|D1_ERROR|SQLITE_|\n {4}at \w|internal error; reference/;

/** Agent cards are public for a known assistant id: they show its name. */
const PUBLIC = /\/\.well-known\/agent(?:-card)?\.json/;

/** undefined when the answer is as it must be. 503 is allowed with `Retry-After`. */
export function findFault(
  { status, text, retryAfter, fault }: Answer,
  secrets: Record<string, string>,
  { path, method }: Pick<FuzzRequest, "path" | "method"> = { path: "", method: "GET" },
): string | undefined {
  if (fault === "hang") return `no answer within ${HANG_MS} ms`;
  if (fault) return `the connection broke: ${text}`;
  // What is not served is refused with its reason.
  if (status === 501 && (method === "HEAD" || text.includes("Weir does not serve "))) return undefined;
  if (status === 503 ? retryAfter === undefined : status >= 500) return `status ${status}: ${text.slice(0, 300)}`;
  // An answer may repeat a name that the request's path has, such as that of a prompt.
  const secret = Object.keys(secrets).find((one) => text.includes(one) && !path.includes(one));
  if (secret && !PUBLIC.test(path)) return `the answer contains ${secrets[secret]}`;
  // The document names the errors of the streaming protocol.
  const internal = path.startsWith("/openapi.json") ? null : INTERNAL.exec(text);
  return internal
    ? `the answer reports a fault of the server: ${text.slice(Math.max(0, internal.index - 100), internal.index + 200)}`
    : undefined;
}

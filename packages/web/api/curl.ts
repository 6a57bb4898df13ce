/** Requests as commands for a shell. */
import { SERVER } from "./server.ts";

/** A request with an API key. It is a POST when it has a body, which is JSON, unless the path ends with a method: "/store/items -X PUT". */
export function formatCurl(path: string, body?: string): string {
  const head = [`curl ${SERVER}${path}`, '-H "X-API-Key: $WEIR_API_KEY"'];
  const json = body === undefined ? [] : ["-H 'content-type: application/json'", `-d '${body}'`];
  return [...head, ...json].join(" \\\n  ");
}

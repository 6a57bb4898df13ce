/** Where the API is: on the page's own origin, below `http.mount_prefix`, which `weir` writes into the page. */

const PREFIX = document.querySelector<HTMLMetaElement>('meta[name="weir-mount-prefix"]')?.content ?? "";

/** The address that SDKs take. */
export const SERVER = location.origin + PREFIX;

/** A path of the API as an address. Whole addresses stay as they are. */
export const resolveAddress = (path: string): string => (path.startsWith("/") ? SERVER + path : path);

// Requests as commands for a shell.

/** A request with an API key. It is a POST when it has a body, which is JSON, unless the path ends with a method: "/store/items -X PUT". */
export function formatCurl(path: string, body?: string): string {
  const head = [`curl ${SERVER}${path}`, '-H "X-API-Key: $WEIR_API_KEY"'];
  const json = body === undefined ? [] : ["-H 'content-type: application/json'", `-d '${body}'`];
  return [...head, ...json].join(" \\\n  ");
}

// A program elsewhere sets these variables to send its traces here.

/** The environment variables of the LangSmith SDKs. */
export const writeTracing = (key = "<an API key of this workspace>"): string =>
  [
    "LANGSMITH_TRACING=true",
    `LANGSMITH_ENDPOINT=${SERVER}`,
    `LANGSMITH_API_KEY=${key}`,
    "LANGSMITH_PROJECT=my-program",
  ].join("\n");

/** Calls of the server's API by whom runs an experiment: the page or the command line. */
import { isMembers } from "./answer.ts";

/** Sends a request with the caller's credential. The body is JSON. */
export type Send = (method: string, path: string, body?: unknown) => Promise<Response>;

/** The JSON of an answer. @throws Error with the server's own `detail` */
export async function read<T>(send: Send, method: string, path: string, body?: unknown): Promise<T> {
  return (await readJson(await send(method, path, body), `${method} ${path}`)) as T;
}

async function readJson(response: Response, what: string): Promise<unknown> {
  const text = await response.text();
  if (response.ok) return text === "" ? undefined : JSON.parse(text);
  let detail: unknown;
  try {
    detail = (JSON.parse(text) as { detail?: unknown }).detail;
  } catch {
    detail = text.slice(0, 200);
  }
  throw new Error(`${what}: ${typeof detail === "string" ? detail : `the server answered ${response.status}.`}`);
}

export interface Ended {
  id: string;
  outputs: Record<string, unknown>;
  /** Why the run failed. */
  error?: string;
}

/** Runs an assistant to its end on a thread that is deleted after it. */
export async function runAssistant(send: Send, assistant: string, input: unknown, more: object = {}): Promise<Ended> {
  const path = "/runs/wait";
  const response = await send("POST", path, { assistant_id: assistant, input, ...more });
  const values = await readJson(response, `POST ${path}`);
  const id = /\/runs\/([0-9a-f-]{36})/.exec(response.headers.get("content-location") ?? "")?.[1];
  if (id === undefined) throw new Error("The server did not say which run it started.");
  const outputs = isMembers(values) ? values : { output: values };
  const failed = outputs["__error__"];
  if (!isMembers(failed)) return { id, outputs };
  return { id, outputs: {}, error: String(failed["message"] ?? failed["error"]) };
}

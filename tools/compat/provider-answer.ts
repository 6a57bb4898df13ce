/** What the answers of all providers have in common. */
import type { ServerResponse } from "node:http";

export const SENTENCE = "This is the answer of a model on this machine.";

/** What a model says: text, or a call of a tool. */
export interface Said {
  text: string;
  call?: { name: string; args: string };
}

export type Body = Record<string, unknown>;

/** Answers with server-sent events; each is the name of its event and its data. */
export function stream(response: ServerResponse, events: [name: string | undefined, data: unknown][]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const [name, data] of events) {
    if (name) response.write(`event: ${name}\n`);
    response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  }
  response.end();
}

export function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

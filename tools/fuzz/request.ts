/** A request as it goes out, so that it can be printed and sent again. */
export interface FuzzRequest {
  /** Which generator made it. */
  kind: string;
  actor: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** Texts to send over a WebSocket once it is open. */
  frames?: string[];
}

/** The request as a command line. Bytes of a body go through base64. */
export function formatRequest({ method, path, headers, body, frames }: FuzzRequest, url: string): string {
  const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const lines = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  const data = body === undefined ? "" : ` | base64 -d | curl -sS --data-binary @-`;
  const bytes = body === undefined ? "" : `echo ${Buffer.from(body).toString("base64")}`;
  const command = `${bytes}${data || "curl -sS"} --path-as-is -g -X ${method} ${quote(url + path)} ${lines.join(" ")}`;
  return frames ? `${command}\n  frames: ${JSON.stringify(frames)}` : command;
}

/** JSON text; an own `__proto__` is kept. */
export const toJson = (value: unknown): string => JSON.stringify(value) ?? "null";

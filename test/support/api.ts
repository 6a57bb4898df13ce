/** HTTP calls with fixed headers, such as an API key. */
import { sseEvents, type SseEvent } from "./sse.ts";

export class Api {
  readonly url: string;
  readonly headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string>) {
    this.url = url;
    this.headers = headers;
  }

  async send(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Response> {
    return fetch(this.url + path, {
      method,
      headers: { ...this.headers, ...(body !== undefined && { "content-type": "application/json" }), ...more },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  }

  /** Returns the JSON of the response. Throws unless the status is 2xx. */
  async call<T>(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<T> {
    const response = await this.send(method, path, body, more);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  get<T>(path: string): Promise<T> {
    return this.call("GET", path);
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.call("POST", path, body);
  }

  /** Yields the Server-Sent Events of a call. */
  async *events(method: string, path: string, body?: unknown, more?: Record<string, string>): AsyncGenerator<SseEvent> {
    const response = await this.send(method, path, body, more);
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    yield* sseEvents(response);
  }
}

/** Repeats `look` until it returns a value. Throws after `seconds`. */
export async function waitUntil<T>(
  what: string,
  seconds: number,
  look: () => Promise<T | undefined>,
): Promise<NonNullable<T>> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null) return found;
    if (Date.now() > end) throw new Error(`Timed out after ${seconds} s: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const human = (content: string) => ({ messages: [{ role: "user", content }] });

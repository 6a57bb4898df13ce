/** Carries out the requests of clients and records each as an interval. */
import { Client } from "@langchain/langgraph-sdk";
import { type Kind, now, type Of, type Operation, type Outcome } from "./record.ts";

export interface Address {
  url: string;
  headers: Record<string, string>;
}

/** The time after which the outcome of a request counts as unknown. */
const LONGEST_MS = 60_000;

export class HttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(`HTTP ${status}: ${message.slice(0, 300)}`);
    this.status = status;
  }
}

export const readStatus = (error: unknown): number | undefined => {
  const { status } = error as { status?: unknown };
  return typeof status === "number" ? status : undefined;
};

/** What the recorder fills in itself. */
type Filled = "kind" | "client" | "at" | "until" | "outcome" | "detail";
export type Given<K extends Kind> = Omit<Of<K>, Filled>;

export class Recorder {
  readonly address: Address;
  readonly operations: Operation[] = [];
  readonly sdk: Client;

  constructor(address: Address) {
    this.address = address;
    this.sdk = new Client({
      apiUrl: address.url,
      apiKey: null,
      defaultHeaders: address.headers,
      timeoutMs: LONGEST_MS,
      // A repeated request would be two operations in one.
      callerOptions: { maxRetries: 0, maxConcurrency: Infinity },
      // The SDK answers concurrent reads of one address with one request, unless it has this hook.
      onRequest: (_url, init) => init,
    });
  }

  /** A request with `fetch`: for streams, and for headers that the SDK does not send. Throws unless the answer is 2xx. */
  async send(
    method: string,
    path: string,
    body: unknown,
    { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<Response> {
    const response = await fetch(this.address.url + path, {
      method,
      headers: {
        ...this.address.headers,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      signal: signal ?? AbortSignal.timeout(LONGEST_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new HttpError(response.status, await response.text());
    return response;
  }

  /** Carries `work` out as an operation of `client`, which may add to it what it learns on the way. */
  async record<K extends Kind>(
    client: number,
    kind: K,
    given: Given<K>,
    work: (operation: Given<K>) => Promise<void>,
  ): Promise<Of<K>> {
    const operation = { ...given };
    const at = now();
    let outcome: Outcome = "ok";
    let detail: string | undefined;
    try {
      await work(operation);
    } catch (error) {
      const status = readStatus(error);
      outcome = status !== undefined && status < 500 ? "refused" : "unknown";
      detail = error instanceof Error ? error.message : String(error);
    }
    const done = { ...operation, kind, client, at, until: now(), outcome, ...(detail && { detail }) };
    const recorded = done as unknown as Of<K>;
    this.operations.push(recorded);
    return recorded;
  }
}

/** What the parts of the stand-in of Cloudflare's API have in common. */

export interface Call {
  method: string;
  /** The path below `/client/v4`, without the query. */
  path: string;
  query: URLSearchParams;
  request: Request;
}

/** An error as the API reports it: an HTTP status and Cloudflare's own code. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A route: a method, a pattern of the path below the account, and what it answers as `result`. */
export type Route = [method: string, pattern: RegExp, answer: (call: Call, ...parts: string[]) => unknown];

/** The context of every route: the Worker's bindings, and the caller. */
import type { Principal } from "./principal.ts";

export interface App {
  Bindings: Env;
  /**
   * `threadId`: the id of the thread that the path names in another way. `serverFault`: the answer has the status 200 and
   * says that the server failed, as JSON-RPC does. `idempotency`: what the request has under its Idempotency-Key. `appOnly`:
   * only the project's `app` may answer the request, and no built-in route.
   */
  Variables: {
    principal: Principal;
    threadId?: string;
    serverFault?: boolean;
    idempotency?: IdempotencyKey;
    appOnly?: boolean;
  };
}

/** The Idempotency-Key of a request. Times are milliseconds since 1970. */
export interface IdempotencyKey {
  /** With the credential that uses it. */
  key: string;
  /** When it was first claimed; undefined when version 1.0 claimed it. */
  epoch: number | undefined;
  /** When it ends. */
  ends: number;
  /** The first request was answered with a stream that is not kept, or not yet. */
  isRepeat: boolean;
  /** Keeps the whole text of the stream that answers the request, up to a size: a repetition gets it. */
  keepStream: (text: string) => Promise<void>;
}

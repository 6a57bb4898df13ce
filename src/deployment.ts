/** The user's own code beside the graphs: `auth`, `app`, `a2a`, `embeddings` and `evaluators`, filled by createWeir, each optional. */
import type { Env as HonoEnv, Hono } from "hono";
import { type Lazy, loaded } from "./lazy.ts";
import type { AppUser } from "./http/principal.ts";

/** The input of a handler. `value` is the request's and may be changed in place. */
export interface AuthEvent {
  event: string;
  resource: string;
  action: string;
  value: Record<string, unknown>;
  permissions: string[];
  user: AppUser;
}

type Handler = (event: AuthEvent) => unknown;

/** An `Auth` of @langchain/langgraph-sdk/auth, as far as the server reads it. */
export interface UserAuth {
  "~handlerCache": {
    authenticate?: (request: Request) => unknown;
    callbacks?: Record<string, Handler | undefined>;
  };
}

/** Converts texts to vectors. Receives the Worker's variables and bindings. */
export type Embeddings = (texts: string[], env: Env) => Promise<number[][]>;

/** An embeddings class of LangChain's, as far as the server uses it. */
export interface Embedder {
  embedDocuments(texts: string[]): Promise<number[][]>;
}

/** A traced run as an evaluator gets it: the members of the trace API's runs. Payloads above 1 MB are left out. */
export interface EvaluatedRun extends Record<string, unknown> {
  id: string;
  trace_id: string;
  name: string;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
}

/**
 * Scores a traced run for a rule: `{key, score, value?, comment?}`, a list of such objects, or an object whose members are keys with
 * their scores. docs/rules.md describes it.
 */
export type Evaluator = (run: EvaluatedRun, context: { env: Env }) => unknown;

export interface Custom {
  auth?: UserAuth | Lazy<UserAuth>;
  app?: Hono<HonoEnv>;
  /** What the agent cards of graphs say, by graph id: the members of an assistant's `metadata.a2a`. */
  a2a?: Record<string, unknown>;
  embeddings?: Embeddings | Lazy<Embeddings | Embedder>;
  /** Evaluators of rules on traced runs, by the names that `code_evaluators` of a rule give. */
  evaluators?: Record<string, Evaluator | Lazy<Evaluator>>;
}

/** The application is mounted before the built-in routes, so its own come first. */
export const custom: Custom = {};

/** The handlers of the deployment's own `Auth`. Throws a Problem with 503 when its module cannot be loaded: calls are refused. */
export const authHandlers = async () => (custom.auth && (await loaded(custom.auth, 503)))?.["~handlerCache"];

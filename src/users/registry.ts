/** The user's own code beside the graphs: `auth`, `app` and `a2a`, exported by the registry, each optional. */
import type { Env as HonoEnv, Hono } from "hono";
import * as registry from "../graphs/index.ts";

/** What a handler is told. `value` is the request's and may be changed in place. */
export interface AuthEvent {
  event: string;
  resource: string;
  action: string;
  value: Record<string, unknown>;
  permissions: string[];
  user: AppUser;
}

/** Who the deployment's own `authenticate` says is calling. */
export interface AppUser {
  identity: string;
  permissions: string[];
  display_name: string;
  is_authenticated: boolean;
  [field: string]: unknown;
}

type Handler = (event: AuthEvent) => unknown;

/** An `Auth` of @langchain/langgraph-sdk/auth, as far as the server reads it. */
interface UserAuth {
  "~handlerCache": {
    authenticate?: (request: Request) => unknown;
    callbacks?: Record<string, Handler | undefined>;
  };
}

interface Custom {
  auth?: UserAuth;
  app?: Hono<HonoEnv>;
  /** What the agent cards of graphs say, by graph id: the members of an assistant's `metadata.a2a`. */
  a2a?: Record<string, unknown>;
}

/** What the registry exports. The application is mounted before the built-in routes, so its own come first. */
export const custom: Custom = { ...(registry as Custom) };

export const authHandlers = () => custom.auth?.["~handlerCache"];

/** The user's own code beside the graphs: `auth` and `app`, exported by the registry, both optional. */
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

/** What the registry exports. The application is mounted before the built-in routes, so its own come first. */
export const custom: { auth?: UserAuth; app?: Hono<HonoEnv> } = {
  ...(registry as { auth?: UserAuth; app?: Hono<HonoEnv> }),
};

export const authHandlers = () => custom.auth?.["~handlerCache"];

/** Who may export: keys with the scope, in workspaces whose plan includes it. */
import type { MiddlewareHandler } from "hono";
import { findWorkspace } from "../access/auth/store.ts";
import { database } from "../db/client.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";

/** Refuses callers without the scope `exports`. */
export const requireScope: MiddlewareHandler<App> = async (c, next) => {
  if (!c.get("principal").scopes.includes("exports")) {
    throw new Problem(403, 'This credential lacks the scope "exports".');
  }
  await next();
};

/** Refuses workspaces whose plan leaves exports out (specification 5). */
export const requirePlan: MiddlewareHandler<App> = async (c, next) => {
  const workspace = await findWorkspace(database(c.env.DB), c.get("principal").workspaceId);
  if (workspace?.settings.exports === false) {
    throw new Problem(403, "The plan of this workspace does not include bulk exports.");
  }
  await next();
};

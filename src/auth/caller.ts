/** The caller among people. */
import type { Context } from "hono";
import type { App } from "../http/context.ts";

/** The name of those who review, commit and like: the user of the deployment's own `Auth`, else the credential. */
export function nameCaller(c: Context<App>): string {
  const { user, credentialId } = c.get("principal");
  return user?.identity ?? credentialId;
}

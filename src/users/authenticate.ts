/** Runs the deployment's own `authenticate` handler. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { Problem } from "../lib/problem.ts";
import type { AppUser } from "../http/principal.ts";
import { authHandlers } from "../deployment.ts";

/** Whether the deployment says itself who its users are. */
export const hasUsers = async (): Promise<boolean> => (await authHandlers())?.authenticate !== undefined;

/** The user that the handler sees behind this request; 401, or the handler's own refusal, when it sees none. */
export async function resolveUser(request: Request): Promise<AppUser> {
  const handlers = await authHandlers();
  const answer = await callHandler(() => handlers?.authenticate?.(request.clone()));
  if (typeof answer === "string") return completeUser({ identity: answer });
  const identity = (answer as { identity?: unknown } | null | undefined)?.identity;
  if (typeof identity === "string") return completeUser({ ...(answer as object), identity });
  throw new Problem(401, "The request has no valid credential for this deployment.");
}

/** What a handler of the user's answers. It refuses by an exception with a status, whose headers reach the client. */
export async function callHandler<T>(handler: () => T): Promise<Awaited<T>> {
  try {
    return await handler();
  } catch (error) {
    const { status, message, headers } = error as { status?: unknown; message?: string; headers?: HeadersInit };
    if (typeof status !== "number" || status < 400 || status > 499) throw error;
    const own = Object.fromEntries(new Headers(headers ?? {}));
    throw new Problem(status as ContentfulStatusCode, message || "Refused.", { headers: own });
  }
}

function completeUser(user: { identity: string; [field: string]: unknown }): AppUser {
  const permissions = Array.isArray(user.permissions) ? user.permissions.map(String) : [];
  return { display_name: user.identity, is_authenticated: true, ...user, permissions };
}

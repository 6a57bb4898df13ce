/** OAuth's own error dialect (RFC 6749 section 5.2, RFC 7591 section 3.2.2): `{error, error_description}`. */
import type { Context } from "hono";
import { logError } from "../../lib/log.ts";
import { Problem } from "../../lib/problem.ts";

export type OAuthErrorCode =
  | "access_denied"
  | "invalid_client"
  | "invalid_client_metadata"
  | "invalid_grant"
  | "invalid_redirect_uri"
  | "invalid_request"
  | "invalid_scope"
  | "invalid_target"
  | "server_error"
  | "too_many_requests"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "unsupported_token_type";

type OAuthErrorStatus = 400 | 401 | 405 | 413 | 421 | 429 | 500;

/** `description` is shown to the caller: printable ASCII without quotes or backslash, and none of the input. */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    readonly description: string,
    readonly status: OAuthErrorStatus = 400,
    readonly headers: Record<string, string> = {},
  ) {
    super(description);
    this.name = "OAuthError";
  }
}

/** Answers any error in OAuth's format. Unexpected errors are logged and answered as `server_error`. */
export function oauthErrorResponse(error: Error, c: Context): Response {
  const known = toOAuthError(error);
  return c.json({ error: known.code, error_description: known.description }, known.status, {
    ...NO_STORE,
    ...known.headers,
  });
}

function toOAuthError(error: Error): OAuthError {
  if (error instanceof OAuthError) return error;
  if (error instanceof Problem && error.status === 413) return new OAuthError("invalid_request", error.detail, 413);
  if (error instanceof Problem && error.status === 429) {
    return new OAuthError("too_many_requests", error.detail, 429, error.more.headers);
  }
  logError(error);
  return new OAuthError("server_error", "The server failed to handle this request. It has been logged.", 500);
}

/** RFC 6749 section 5.1 and RFC 7591 section 3.2.1 require both. */
export const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

/** The credential of this tab: none (local open mode), an API key, or tokens of the server's own OAuth. */

export interface Session {
  kind: "key" | "oauth";
  /** The API key, or the access token. */
  secret: string;
  refreshToken?: string;
  /** The workspace that the tokens are for. */
  workspaceId?: string;
  /** Milliseconds since epoch. */
  expiresAt?: number;
}

const KEY = "weir.session";
let session = read();

function read(): Session | undefined {
  const stored = sessionStorage.getItem(KEY);
  return stored === null ? undefined : (JSON.parse(stored) as Session);
}

export function currentSession(): Session | undefined {
  return session;
}

/** Kept for this tab only: another tab, and the next start of the browser, signs in again. */
export function setSession(next: Session | undefined): void {
  session = next;
  if (next) sessionStorage.setItem(KEY, JSON.stringify(next));
  else sessionStorage.removeItem(KEY);
}

/** The headers that say who is calling; empty in local open mode. */
export function credentials(): Record<string, string> {
  if (!session) return {};
  if (session.kind === "key") return { "x-api-key": session.secret };
  const workspace: Record<string, string> = session.workspaceId ? { "x-tenant-id": session.workspaceId } : {};
  return { authorization: `Bearer ${session.secret}`, ...workspace };
}

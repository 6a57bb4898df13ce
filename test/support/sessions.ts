/** A browser in which a member is signed in, without the way through a provider. */
import { env } from "cloudflare:workers";
import { sha256 } from "../../src/lib/crypto.ts";
import { send } from "./caller.ts";

export interface Browser {
  session: string;
  cookie: string;
  /** A request as a page of the server sends it. */
  fetch(
    path: string,
    options?: { method?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<Response>;
}

export async function signIn(memberId: string): Promise<Browser> {
  const session = crypto.randomUUID();
  const secret = `weir_session_${crypto.randomUUID()}`;
  const now = Date.now();
  await env.DB.prepare(
    "insert into member_sessions (id, hash, member_id, created_at, last_used_at, expires_at) values (?, ?, ?, ?, ?, ?)",
  )
    .bind(session, sha256(secret), memberId, now, now, now + 3_600_000)
    .run();
  const cookie = `__Host-weir_session=${secret}`;
  return {
    session,
    cookie,
    fetch: (path, { headers, ...rest } = {}) =>
      send(path, {
        ...rest,
        headers: { cookie, origin: "https://weir.test", "sec-fetch-site": "same-origin", ...headers },
      }),
  };
}

/** A run that calls its own server: with the rights of its user, in its workspace. */
import type { Behalf } from "../loopback/caller.ts";
import type { AppUser } from "../http/principal.ts";
import type { StoredRun } from "./run.ts";

export interface Acting {
  run_id: string;
  user?: AppUser;
  /** How many calls of this server to itself led to the run. */
  depth?: number;
}

export function actingRun({ id, request }: Pick<StoredRun, "id" | "request">): Acting {
  const user = request.configurable?.langgraph_auth_user as AppUser | undefined;
  return { run_id: id, user, depth: request.depth };
}

/** The caller that the run is, with what running graphs needs. */
export function actsFor(env: Env, workspaceId: string, { run_id, user, depth }: Acting): Behalf {
  return { env, principal: { workspaceId, scopes: ["read", "write"], credentialId: run_id, kind: "run", user, depth } };
}

/** The user of a cron: whose runs it starts. Kept encrypted, because an `Auth` may put tokens into its users. */
import { LOCAL_WORKSPACE_ID, type Principal } from "../http/principal.ts";
import { openSecret, sealSecret } from "../access/encryption/keys.ts";
import { Problem } from "../lib/problem.ts";
import { hasUsers } from "../access/users/handlers.ts";
import type { AppUser } from "../http/principal.ts";
import type { CronRow } from "../automation/crons/store.ts";

type Owned = Pick<CronRow, "userId" | "user">;

const userPurpose = (cronId: string) => `cron:${cronId}:user`;

/** The columns that name the user; without a user the cron is the workspace's. */
export async function sealCronUser(
  env: Env,
  { id, workspaceId }: Pick<CronRow, "id" | "workspaceId">,
  user: AppUser | undefined,
): Promise<Owned> {
  if (!user) return { userId: null, user: null };
  const sealed = await sealSecret(env, workspaceId, JSON.stringify(user), userPurpose(id));
  return { userId: user.identity, user: sealed };
}

/** Who acts when the cron fires. Throws 403 when the deployment no longer has its users. */
export async function cronPrincipal(env: Env, cron: CronRow): Promise<Principal> {
  const { id, workspaceId } = cron;
  const acts = { workspaceId, scopes: ["read", "write"] as const, credentialId: id };
  if (cron.userId === null) return { ...acts, kind: "cron" };
  const home = env.AUTH_WORKSPACE_ID?.toLowerCase() ?? LOCAL_WORKSPACE_ID;
  if (!(await hasUsers()) || home !== workspaceId.toLowerCase())
    throw new Problem(403, "The deployment no longer has users in the workspace of this cron.");
  return { ...acts, kind: "user", user: await readCronUser(env, cron.userId, cron) };
}

/** A row from before users were stored has an identity only: without permissions its handlers decide. */
async function readCronUser(env: Env, identity: string, { id, workspaceId, user }: CronRow): Promise<AppUser> {
  if (user === null) return { identity, permissions: [], display_name: identity, is_authenticated: true };
  return JSON.parse(await openSecret(env, workspaceId, user, userPurpose(id))) as AppUser;
}

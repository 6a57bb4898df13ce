/** The deployment's own secrets: made once, kept on this machine, never changed by a deploy. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "./account.ts";
import { createApi, type Fetch } from "../api.ts";
import { CliFault } from "../console.ts";

/** Weir's secrets, and how a new value of each is made. */
const MADE = {
  ENCRYPTION_KEY: () => randomBytes(32).toString("base64"),
  WEIR_ADMIN_KEY: () => randomBytes(32).toString("base64url"),
};
export type OwnSecret = keyof typeof MADE;
export const OWN_SECRETS = Object.keys(MADE) as OwnSecret[];

/** The values of a deployment that are stored on this machine. Cloudflare never shows a secret again. */
export type StoredSecrets = Partial<Record<OwnSecret | "url", string>>;

const secretsFile = (weirDir: string, worker: string) => join(weirDir, "secrets", `${worker}.json`);

/** What is kept in `.weir/secrets/<worker>.json`; empty if this machine did not make the deployment. */
export function readStoredSecrets(weirDir: string, worker: string): StoredSecrets {
  try {
    return JSON.parse(readFileSync(secretsFile(weirDir, worker), "utf8")) as StoredSecrets;
  } catch {
    return {};
  }
}

/** Keeps it, readable by this user only and ignored by git. */
export function writeStoredSecrets(weirDir: string, worker: string, known: StoredSecrets): void {
  const folder = join(weirDir, "secrets");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, ".gitignore"), "*\n");
  writeFileSync(secretsFile(weirDir, worker), `${JSON.stringify(known, null, 2)}\n`, { mode: 0o600 });
}

/** Which of `names` the Worker has no secret of. All, when there is no such Worker. */
export async function missingSecrets<N extends string>(account: Account, worker: string, names: N[]): Promise<N[]> {
  const set = (await account.find<{ name: string }[]>(`/workers/scripts/${worker}/secrets`)) ?? [];
  return names.filter((name) => !set.some((secret) => secret.name === name));
}

/**
 * Values for secrets that the Worker lacks: of this process's environment, else the value that an earlier deploy made and
 * did not bring to the account, else a new one.
 */
export function secretValues(
  missing: OwnSecret[],
  known: StoredSecrets,
  env: NodeJS.ProcessEnv,
): Partial<Record<OwnSecret, string>> {
  return Object.fromEntries(missing.map((name) => [name, env[name] || known[name] || MADE[name]()]));
}

// The first workspace of a deployment and its first key.

/** The workspace in which users of the deployment's own `Auth` act, unless AUTH_WORKSPACE_ID names another. */
export const FIRST_WORKSPACE_ID = "00000000-0000-4000-8000-000000000001";

/**
 * Waits until the deployment answers `/ok`. A new address of workers.dev takes up to a minute to resolve.
 *
 * @throws Fault with the last reason, after `attempts` with `pause` milliseconds in between.
 */
export async function waitUntilOk(url: string, fetch: Fetch, { attempts = 60, pause = 2_000 } = {}): Promise<void> {
  let reason = "";
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      const response = await fetch(`${url}/ok?check_db=1`, { signal: AbortSignal.timeout(10_000) });
      if (response.ok) return;
      reason = `status ${response.status}`;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    if (attempt < attempts) await new Promise((resolve) => setTimeout(resolve, pause));
  }
  throw new CliFault(
    `The Worker is deployed, but ${url}/ok does not answer: ${reason}. See \`weir logs\`, then run again.`,
  );
}

/**
 * Makes the first workspace and a key of it, unless they exist.
 *
 * @returns the key, to be shown once; undefined where the workspace has keys.
 */
export async function firstKey(url: string, adminKey: string, fetch: Fetch): Promise<string | undefined> {
  const call = createApi({ url, key: adminKey, workspaceId: FIRST_WORKSPACE_ID, fetch });
  await call("POST", "/workspaces", { id: FIRST_WORKSPACE_ID, name: "default" }, [409]);
  const keys = await call<unknown[]>("GET", "/api-keys");
  if (keys.length > 0) return undefined;
  return (await call<{ key: string }>("POST", "/api-keys", { name: "first" })).key;
}

/** The deployment's own secrets: made once, kept on this machine, never changed by a deploy. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "./account.ts";

/** Weir's secrets, and how a new value of each is made. */
const MADE = {
  ENCRYPTION_KEY: () => randomBytes(32).toString("base64"),
  WEIR_ADMIN_KEY: () => randomBytes(32).toString("base64url"),
};
export type OwnSecret = keyof typeof MADE;
export const OWN_SECRETS = Object.keys(MADE) as OwnSecret[];

/** The values of a deployment that are stored on this machine. Cloudflare never shows a secret again. */
export type Known = Partial<Record<OwnSecret | "url", string>>;

const secretsFile = (weirDir: string, worker: string) => join(weirDir, "secrets", `${worker}.json`);

/** What is kept in `.weir/secrets/<worker>.json`; empty if this machine did not make the deployment. */
export function readKnown(weirDir: string, worker: string): Known {
  try {
    return JSON.parse(readFileSync(secretsFile(weirDir, worker), "utf8")) as Known;
  } catch {
    return {};
  }
}

/** Keeps it, readable by this user only and ignored by git. */
export function writeKnown(weirDir: string, worker: string, known: Known): void {
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
  known: Known,
  env: NodeJS.ProcessEnv,
): Partial<Record<OwnSecret, string>> {
  return Object.fromEntries(missing.map((name) => [name, env[name] || known[name] || MADE[name]()]));
}

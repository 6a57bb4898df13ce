/** The configuration for this machine: that of a deployment, with the project's variables and secrets in it. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "miniflare";
import type { Environment } from "../project/project.ts";
import type { Generated } from "../project/generate.ts";
import { writeWhole } from "../write-whole.ts";
import type { Project } from "../project.ts";
import type { WranglerConfig } from "../wrangler-file.ts";

export interface LocalSecrets {
  ENCRYPTION_KEY: string;
  WEIR_ADMIN_KEY: string;
}

/** The folder of local data. It persists over restarts. */
export const stateFolder = ({ weirDir }: Project): string => join(weirDir, "state");

/** The secrets of this machine's state: made once. */
export function localSecrets(project: Project): LocalSecrets {
  const file = join(stateFolder(project), "secrets.json");
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as LocalSecrets;
  const made = {
    ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    WEIR_ADMIN_KEY: randomBytes(24).toString("base64url"),
  };
  writeWhole(file, JSON.stringify(made, null, 2), 0o600);
  return made;
}

/** A configuration for this machine. */
export interface LocalConfig {
  /** The file of it, for Wrangler. It has no variables. */
  file: string;
  /** The name of the Worker, with which the local data of Durable Objects is found. */
  name: string;
  variables: Record<string, Json> & LocalSecrets;
}

/**
 * Writes `.weir/wrangler.dev.json`: bindings without variables, and without the list of required secrets, which are
 * variables here.
 */
export function localConfig(project: Project, { wrangler }: Generated, { variables }: Environment): LocalConfig {
  const {
    secrets: _secrets,
    vars,
    r2_buckets = [],
    ...deployed
  } = withoutRemote(wrangler) as typeof wrangler & { r2_buckets?: { binding: string }[] };
  const served = r2_buckets.map((bucket) => (bucket.binding === "EXPORTS_BUCKET" ? { ...bucket, ...S3 } : bucket));
  const file = join(project.weirDir, "wrangler.dev.json");
  writeWhole(file, `${JSON.stringify({ ...deployed, r2_buckets: served }, null, 2)}\n`, 0o600);
  return {
    file,
    name: String(wrangler.name),
    variables: {
      REQUEST_LOG_RATE: "0",
      ...(vars as Record<string, Json> | undefined),
      AUTH: "open",
      ...localSecrets(project),
      ...variables,
    },
  };
}

/** Bindings that have no local form: Wrangler requires a login and uses the account, which bills each call. */
const REMOTE = ["ai", "vectorize"];

/** The configuration without bindings that only the account has, unless they say `"remote": true`. */
function withoutRemote(wrangler: WranglerConfig): WranglerConfig {
  const kept = Object.entries(wrangler).flatMap(([key, value]) => {
    if (!REMOTE.includes(key)) return [[key, value]];
    const asked = ([value].flat() as { remote?: boolean }[]).filter(({ remote }) => remote);
    return asked.length > 0 ? [[key, Array.isArray(value) ? asked : asked[0]]] : [];
  });
  return Object.fromEntries(kept) as WranglerConfig;
}

/** The bucket for exports is also served over S3, at `/cdn-cgi/local/r2/s3/<bucket>`, with these keys. */
const S3 = {
  local_dev: { experimental_s3_credentials: { accessKeyId: "local", secretAccessKey: "local-secret" } },
};

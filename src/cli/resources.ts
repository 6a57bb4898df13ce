/** What a deployment has in its Cloudflare account: every name is made of the Worker's name. */
import { createHash } from "node:crypto";
import { Fault } from "./fault.ts";

/** Bindings of Weir to the names of what is bound. Rate limits are identified by numbers, as text. */
export interface Resources {
  worker: string;
  databases: { DB: string };
  buckets: { BLOBS: string; EXPORTS_BUCKET: string };
  queues: { EXPORTS: string; CRON_QUEUE: string; RULES: string };
  rateLimits: { KEY_LIMIT: string; ADDRESS_LIMIT: string; TOTAL_LIMIT: string };
  /** Variables with names that the Worker cannot read from a binding. */
  vars: { EXPORTS_BUCKET_NAME: string };
}

/** Names of buckets and queues have at most 63 characters; `-exports` is the longest suffix. */
const LONGEST = 63 - "-exports".length;
const NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/**
 * The resources of the deployment `name`, of its environment `env` if one is given. The Worker of an environment is
 * `<name>-<env>`, as with Wrangler. A Worker's name is unique in an account and each resource's name is the Worker's
 * name with a suffix, so two deployments never share one.
 *
 * @throws Fault with a sentence for the terminal, when R2 and Queues do not accept names made of this one.
 */
export function nameResources(name: string, env?: string): Resources {
  const worker = env ? `${name}-${env}` : name;
  if (!NAME.test(worker)) {
    throw new Fault(
      `"${worker}" cannot name a deployment: use lower-case letters, digits and hyphens, with a letter or digit at both ends. ` +
        'Set "name" in wrangler.jsonc.',
    );
  }
  if (worker.length > LONGEST) {
    throw new Fault(
      `"${worker}" cannot name a deployment: it has ${worker.length} characters, and the most is ${LONGEST}. ` +
        'Set a shorter "name" in wrangler.jsonc.',
    );
  }
  const limit = rateLimitIds(worker);
  return {
    worker,
    databases: { DB: worker },
    buckets: { BLOBS: `${worker}-blobs`, EXPORTS_BUCKET: `${worker}-exports` },
    queues: { EXPORTS: `${worker}-exports`, CRON_QUEUE: `${worker}-crons`, RULES: `${worker}-rules` },
    rateLimits: { KEY_LIMIT: limit(1), ADDRESS_LIMIT: limit(2), TOTAL_LIMIT: limit(3) },
    vars: { EXPORTS_BUCKET_NAME: `${worker}-exports` },
  };
}

/**
 * A namespace of rate limits is a positive integer that an account's Workers share when they name the same one. Nothing
 * lists those in use, so they come from a hash of the Worker's name: 28 bits of it and two bits for the limit.
 */
function rateLimitIds(worker: string): (n: 1 | 2 | 3) => string {
  const hash = createHash("sha256").update(worker).digest().readUInt32BE() >>> 4;
  return (n) => String(hash * 4 + n);
}

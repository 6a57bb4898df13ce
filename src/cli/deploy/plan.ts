/** Which D1 databases, R2 buckets and queues a configuration names, and which of them the account lacks. */
import type { Account } from "./account.ts";

/** The part of a generated Wrangler configuration that a deploy reads, and completes with ids. */
export interface DeployConfig {
  name: string;
  account_id?: string;
  d1_databases?: { binding: string; database_name?: string; database_id?: string; migrations_dir?: string }[];
  r2_buckets?: { binding: string; bucket_name?: string }[];
  queues?: {
    producers?: { binding: string; queue?: string }[];
    consumers?: { queue: string; dead_letter_queue?: string }[];
  };
  secrets?: { required?: string[] };
  vars?: Record<string, unknown>;
}

export type ResourceKind = "D1 database" | "R2 bucket" | "queue";

export interface Resource {
  kind: ResourceKind;
  name: string;
}

/** How each kind is found and created. `find` gives its id, or undefined; the id of an R2 bucket is its name. */
const KINDS: Record<
  ResourceKind,
  {
    find(account: Account, name: string): Promise<string | undefined>;
    create(account: Account, name: string): Promise<string>;
  }
> = {
  "D1 database": {
    async find(account, name) {
      const query = `name=${encodeURIComponent(name)}&per_page=100`;
      const found = await account.call<{ uuid: string; name: string }[]>("GET", `/d1/database?${query}`);
      return found.find((one) => one.name === name)?.uuid;
    },
    create: async (account, name) => (await account.call<{ uuid: string }>("POST", "/d1/database", { name })).uuid,
  },
  "R2 bucket": {
    find: async (account, name) => (await account.find<{ name: string }>(`/r2/buckets/${name}`))?.name,
    create: async (account, name) => (await account.call<{ name: string }>("POST", "/r2/buckets", { name })).name,
  },
  queue: {
    async find(account, name) {
      const query = `name=${encodeURIComponent(name)}`;
      const found = await account.call<{ queue_id: string; queue_name: string }[]>("GET", `/queues?${query}`);
      return found.find((one) => one.queue_name === name)?.queue_id;
    },
    create: async (account, name) =>
      (await account.call<{ queue_id: string }>("POST", "/queues", { queue_name: name })).queue_id,
  },
};

/** Each resource that the configuration names, once. A database with an id exists by definition. */
export function resourcesIn({ d1_databases = [], r2_buckets = [], queues = {} }: DeployConfig): Resource[] {
  const names: Record<ResourceKind, (string | undefined)[]> = {
    "D1 database": d1_databases.filter(({ database_id }) => !database_id).map(({ database_name }) => database_name),
    "R2 bucket": r2_buckets.map(({ bucket_name }) => bucket_name),
    queue: [
      ...(queues.producers ?? []).map(({ queue }) => queue),
      ...(queues.consumers ?? []).flatMap(({ queue, dead_letter_queue }) => [queue, dead_letter_queue]),
    ],
  };
  return (Object.keys(names) as ResourceKind[]).flatMap((kind) =>
    [...new Set(names[kind])].filter((name) => name !== undefined).map((name) => ({ kind, name })),
  );
}

/** The resource's id in the account; undefined if it does not exist. */
export async function findResource(account: Account, { kind, name }: Resource): Promise<string | undefined> {
  return KINDS[kind].find(account, name);
}

export async function createResource(account: Account, { kind, name }: Resource): Promise<string> {
  return KINDS[kind].create(account, name);
}

/** The configuration with the ids of its databases, which Wrangler's migrations need. */
export function withDatabaseIds<C extends DeployConfig>(config: C, ids: Map<string, string>): C {
  const d1_databases = config.d1_databases?.map((database) => ({
    ...database,
    database_id: database.database_id ?? ids.get(database.database_name ?? ""),
  }));
  return { ...config, d1_databases };
}

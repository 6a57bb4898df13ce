/** From a destination as it is stored to an object store that can be written to. */
import type { DestinationConfig } from "../table.ts";
import { endpointFault } from "../../http/addresses.ts";
import { S3Store, type S3World } from "../s3/client.ts";
import { StoreError } from "../s3/errors.ts";
import { type ObjectStore, R2Store } from "../s3/store.ts";
import { PUT_ARGUMENTS } from "./schema.ts";

/**
 * The name of the bucket bound as EXPORTS_BUCKET. A binding does not have its bucket's name, so a variable overrides
 * the default.
 */
export function boundBucket(env: Pick<Env, "EXPORTS_BUCKET_NAME">): string {
  return env.EXPORTS_BUCKET_NAME || "weir-exports";
}

export interface OpenDestination {
  type: "s3" | "r2";
  config: DestinationConfig;
  credentials: DestinationCredentials | null;
}

export interface DestinationCredentials {
  access_key_id: string;
  secret_access_key: string;
  session_token?: string | null;
}

/** What opening needs: the bound bucket, whether private endpoints are allowed, and the world's clock and network. */
export interface StoreWorld extends S3World {
  /** Undefined when the deployment binds none. */
  bucket: R2Bucket | undefined;
  allowPrivateEndpoints: boolean;
}

/** Which of these every request carries, and not only the ones that make an object. */
const ON_EVERY_REQUEST = new Set(["ExpectedBucketOwner", "RequestPayer"]);

/** @throws StoreError when the deployment has no such bucket, or does not allow the endpoint. */
export function openStore({ type, config, credentials }: OpenDestination, world: StoreWorld): ObjectStore {
  if (type === "r2") {
    if (world.bucket) return new R2Store(world.bucket, config.bucket_name);
    throw new StoreError("NoBucket: the deployment has no R2 bucket bound as EXPORTS_BUCKET", "NoBucket", true);
  }
  const fault = config.endpoint_url ? endpointFault(config.endpoint_url, world.allowPrivateEndpoints) : undefined;
  if (fault) throw new StoreError(`EndpointRefused: endpoint_url ${fault}`, "EndpointRefused", true);
  if (!credentials) throw new StoreError("NoCredentials: the destination has no credentials", "NoCredentials", true);
  return new S3Store(
    {
      address: {
        bucket: config.bucket_name,
        region: config.region,
        endpointUrl: config.endpoint_url,
        addressingStyle: config.config_kwargs_s3?.addressing_style ?? "auto",
        bucketInUrl: config.include_bucket_in_prefix,
        accelerate: config.config_kwargs_s3?.use_accelerate_endpoint ?? false,
      },
      credentials: {
        accessKeyId: credentials.access_key_id,
        secretAccessKey: credentials.secret_access_key,
        sessionToken: credentials.session_token,
      },
      objectHeaders: selectHeaders(config, (name) => !ON_EVERY_REQUEST.has(name)),
      requestHeaders: selectHeaders(config, (name) => ON_EVERY_REQUEST.has(name)),
    },
    world,
  );
}

function selectHeaders(config: DestinationConfig, wanted: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config.s3_additional_kwargs ?? {})
      .filter(([name]) => wanted(name))
      .map(([name, value]) => [PUT_ARGUMENTS[name as keyof typeof PUT_ARGUMENTS], value]),
  );
}

export function keyBelow(config: DestinationConfig, key: string): string {
  return config.prefix ? `${config.prefix}/${key}` : key;
}

/** Writes and removes a small object. Throws StoreError with the store's own reason; a removal may be forbidden. */
export async function testDestination(destination: OpenDestination, world: StoreWorld, id: string): Promise<void> {
  const store = openStore(destination, world);
  const key = keyBelow(destination.config, `tmp/weir-${id}.txt`);
  await store.put(key, new TextEncoder().encode("Weir checks that it may write here.\n"), "text/plain");
  await store.remove(key).catch(() => undefined);
}

/** The real world of a running Worker. */
export function storeWorld(env: Env): StoreWorld {
  return {
    bucket: env.EXPORTS_BUCKET,
    allowPrivateEndpoints: env.ALLOW_PRIVATE_ADDRESSES === "true" || env.AUTH === "open",
    fetch: (request) => fetch(request),
    now: () => Date.now(),
    sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  };
}

/** The S3 servers that exports are tried on: the local R2 endpoint always, Ceph's gateway where .ci/ceph.sh started one. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AwsClient } from "aws4fetch";

export interface S3Server {
  name: string;
  endpoint: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** The bucket that `wrangler dev` serves: see scripts/local-server.ts. */
export function localR2(url: string): S3Server {
  const endpoint = `${url}/cdn-cgi/local/r2/s3`;
  return { name: "local R2", endpoint, bucket: "weir-exports", accessKeyId: "local", secretAccessKey: "local-secret" };
}

/** What .ci/ceph.sh prints. Undefined when no gateway runs here; with CI=true that is an error. */
export function cephGateway(): S3Server | undefined {
  const { CEPH_ENDPOINT, CEPH_ACCESS_KEY, CEPH_SECRET_KEY, CI } = process.env;
  if (CEPH_ENDPOINT && CEPH_ACCESS_KEY && CEPH_SECRET_KEY) {
    const keys = { accessKeyId: CEPH_ACCESS_KEY, secretAccessKey: CEPH_SECRET_KEY };
    return { name: "Ceph RGW", endpoint: CEPH_ENDPOINT, bucket: "weir-exports", ...keys };
  }
  if (CI === "true") throw new Error("CEPH_ENDPOINT is not set: in CI the tests against Ceph's gateway are required.");
  return undefined;
}

export class Bucket {
  readonly server: S3Server;
  private readonly client: AwsClient;
  private readonly base: string;

  constructor(server: S3Server) {
    this.server = server;
    const { accessKeyId, secretAccessKey, endpoint, bucket } = server;
    this.client = new AwsClient({ accessKeyId, secretAccessKey, service: "s3", region: "us-east-1", retries: 0 });
    this.base = `${endpoint}/${bucket}`;
  }

  /** Makes the bucket if the server lets us; the local one is there already. */
  async create(): Promise<void> {
    await this.client.fetch(this.base, { method: "PUT" });
  }

  async list(prefix: string): Promise<string[]> {
    const response = await this.client.fetch(`${this.base}?list-type=2&prefix=${encodeURIComponent(prefix)}`);
    const xml = await response.text();
    return [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].map((match) => decodeURIComponent(match[1] ?? ""));
  }

  async get(key: string): Promise<Uint8Array> {
    const response = await this.client.fetch(`${this.base}/${key.split("/").map(encodeURIComponent).join("/")}`);
    if (!response.ok) throw new Error(`${key}: ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Copies everything below a prefix into a folder, as its users do. */
  async download(prefix: string, folder: string): Promise<string[]> {
    const keys = await this.list(prefix);
    for (const key of keys) {
      const file = join(folder, key);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, await this.get(key));
    }
    return keys;
  }
}

/** A customer's bucket: an S3 server in a process of its own, which keeps objects as files. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietPort } from "../../../test/support/ports.ts";

const SCRIPT = join(import.meta.dirname, "..", "workers", "disk-s3.ts");

export interface Bucket extends AsyncDisposable {
  /** The folder of its objects. */
  folder: string;
  /** The body of the request that makes it a destination of exports. */
  destination: object;
}

export async function startBucket(): Promise<Bucket> {
  const folder = mkdtempSync(join(tmpdir(), "weir-bench-"));
  const port = await quietPort();
  const child = spawn(process.execPath, [SCRIPT, folder, String(port)]);
  return {
    folder: join(folder, "objects"),
    destination: {
      display_name: "bench",
      config: { bucket_name: "bench", endpoint_url: `http://127.0.0.1:${port}` },
      credentials: { access_key_id: "any", secret_access_key: "any" },
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

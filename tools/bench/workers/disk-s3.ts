/**
 * An S3 server in a process of its own that keeps objects as files, for benches: a customer's bucket is never in our
 * process. `node disk-s3.ts <folder> <port>`; it accepts any credentials and implements the requests of an export.
 */
import { createWriteStream } from "node:fs";
import { appendFile, mkdir, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";

const [folder = "/tmp/disk-s3", port = "0"] = process.argv.slice(2);

async function save(request: IncomingMessage, file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await pipeline(request, createWriteStream(file));
}

async function answer(request: IncomingMessage): Promise<{ status: number; body?: string; etag?: string }> {
  const url = new URL(request.url ?? "/", "http://s3");
  const file = join(folder, "objects", decodeURIComponent(url.pathname));
  const upload = url.searchParams.get("uploadId");
  const parts = join(folder, "uploads", upload ?? "none");
  if (request.method === "PUT" && upload !== null) {
    await save(request, join(parts, url.searchParams.get("partNumber") ?? ""));
    return { status: 200, etag: '"part"' };
  }
  if (request.method === "PUT") {
    await save(request, file);
    return { status: 200, etag: '"object"' };
  }
  if (request.method === "DELETE") {
    await rm(upload === null ? file : parts, { recursive: true, force: true });
    return { status: 204 };
  }
  if (upload === null) {
    const id = crypto.randomUUID();
    return {
      status: 200,
      body: `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    };
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  for (const [, number] of Buffer.concat(chunks)
    .toString()
    .matchAll(/<PartNumber>(\d+)</g)) {
    await appendFile(file, await readFile(join(parts, number ?? "")));
  }
  await rm(parts, { recursive: true });
  return { status: 200, body: "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>" };
}

const server = createServer((request, response) => {
  void answer(request).then(
    ({ status, body = "", etag }) => response.writeHead(status, etag ? { etag } : {}).end(body),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(Number(port), "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : address);
});

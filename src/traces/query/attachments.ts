/** Attachments by a link that needs no key, as the SDKs read them: sealed, and valid for a while. */
import * as v from "valibot";
import { Hono } from "hono";
import { openSealedBlobs } from "../../access/encryption/blobs.ts";
import { sealText, unseal } from "../../lib/crypto.ts";
import { createDoc } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { attachmentKey } from "../ingest/payloads.ts";
import { runBlobPrefix } from "../stub.ts";
import type { QueriedRun } from "../types.ts";

const PURPOSE = "trace attachment";
const VALID_MS = 3_600_000;

const ATTACHMENTS_PATH = "/api/v1/trace-attachments";

/** The link to an attachment by its R2 key. It is valid for an hour. `origin` is the server's own. */
export async function attachmentLink(env: Env, origin: string, key: string): Promise<string> {
  const token = await sealText(env, JSON.stringify([key, Date.now() + VALID_MS]), PURPOSE);
  return `${origin}${ATTACHMENTS_PATH}/${Buffer.from(token).toString("base64url")}`;
}

/** The link to each attachment of these runs; `origin` is the server's own. */
export async function attachmentUrls(env: Env, origin: string, runs: QueriedRun[]) {
  const urls = new Map<string, string>();
  for (const run of runs) {
    for (const { name } of run.attachments) {
      const key = attachmentKey(runBlobPrefix(run), run.id, name);
      urls.set(`${run.id}/${name}`, await attachmentLink(env, origin, key));
    }
  }
  return (run: QueriedRun, name: string) => urls.get(`${run.id}/${name}`) ?? "";
}

export const attachments = new Hono<App>().get(
  `${ATTACHMENTS_PATH}/:token`,
  createDoc("Traces")("An attachment of a run, by the link that the run shows"),
  async (c) => {
    const object = await openSealedBlobs(c.env).get(await readAttachmentKey(c.env, c.req.param("token")));
    if (!object) throw new Problem(404, "The attachment does not exist.");
    return new Response(object.body, {
      headers: {
        "content-type": object.httpMetadata?.contentType ?? "application/octet-stream",
        // What people attach is theirs, not this origin's: never shown as a page of it.
        "content-disposition": "attachment",
        "content-security-policy": "sandbox",
        "x-content-type-options": "nosniff",
        "cache-control": "private, max-age=3600",
      },
    });
  },
);

async function readAttachmentKey(env: Env, token: string): Promise<string> {
  const invalid = new Problem(404, "The link is not valid or has expired. Read the run again for a new one.");
  const grant = await unseal(env, Buffer.from(token, "base64url").toString(), PURPOSE).catch(() => undefined);
  if (grant === undefined) throw invalid;
  const [key, until] = JSON.parse(grant) as [string, number];
  if (until < Date.now()) throw invalid;
  return key;
}

/** The links to attachments by `attachment.<name>`. */
export const Attachments = v.record(
  v.string(),
  v.object({ presigned_url: v.string(), s3_url: v.null(), mime_type: v.string() }),
);

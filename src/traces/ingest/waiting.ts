/** Patches that came before their posts, and name no project that has them: they wait in R2, and the index knows which ids they wait for. */
import { openSealedBlobs } from "../../access/encryption/blobs.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { backOff } from "../../lib/retry.ts";
import { uuidv7 } from "../../lib/uuid.ts";
import { lookupIds } from "../locate.ts";
import { hashIds } from "../lookup/entries.ts";
import { traceIndex } from "../lookup/rpc.ts";
import { LARGE_FIELDS } from "../types.ts";
import { readRunDraft } from "./normalise.ts";
import type { RunOperation } from "./operations.ts";
import type { Field } from "./reader.ts";
import type { Work } from "./stored.ts";

/** Lets a patch wait. `known`: its post is about to be stored, so the caller looks again; not with `isLast`. */
export async function awaitPost(
  env: Env,
  workspaceId: string,
  { operation, draft }: Work,
  isLast: boolean,
): Promise<"waits" | "known" | "full"> {
  // In the order in which they came: a later patch counts over an earlier one.
  const key = `waiting/${workspaceId}/${uuidv7()}`;
  await openSealedBlobs(env).put(key, new TextEncoder().encode(JSON.stringify(pack(operation))));
  const taken = await traceIndex(env, workspaceId).awaitRun(key, hashIds(lookupIds(draft.write)), isLast);
  if (taken !== "waits") await env.BLOBS.delete(key);
  return taken;
}

/** How often a patch is looked up again whose post is about to be stored. */
export const LOOKS = 4;

/** Time for a post to be stored. */
export const awaitStoring = async (look: number): Promise<void> => backOff(look);

/** The patches with these keys. What is gone was stored by another request. */
export async function readWaiting(env: Env, keys: string[]): Promise<Work[]> {
  const bucket = openSealedBlobs(env);
  const read = await inParallel(keys, CONNECTIONS, async (key) => {
    const text = await (await bucket.get(key))?.text();
    if (text === undefined) return [];
    const operation = unpack(JSON.parse(text) as PackedOperation);
    return { operation, draft: readRunDraft(operation), awaited: key };
  });
  return read.flat();
}

/** Forgets patches that are stored with their runs. */
export async function settleWaiting(env: Env, workspaceId: string, keys: string[]): Promise<void> {
  if (keys.length === 0) return;
  await traceIndex(env, workspaceId).settle(keys);
  await env.BLOBS.delete(keys);
}

/** An operation as JSON: what is bytes is base64. */
interface PackedOperation extends Omit<RunOperation, "fields" | "attachments"> {
  fields: Record<string, PackedField | string>;
  attachments: { name: string; type: string; base64: string }[];
}

type PackedField = Omit<Field, "content"> & { content: string | { base64: string; preview: string } };

const toBase64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const fromBase64 = (text: string) => new Uint8Array(Buffer.from(text, "base64"));

function pack({ fields, attachments, ...rest }: RunOperation): PackedOperation {
  const packed: PackedOperation["fields"] = {};
  for (const [name, field] of Object.entries(fields)) {
    if (typeof field === "string") packed[name] = field;
    else packed[name] = { ...field, content: packContent(field.content) };
  }
  return {
    ...rest,
    fields: packed,
    attachments: attachments.map(({ data, ...one }) => ({ ...one, base64: toBase64(data) })),
  };
}

const packContent = (content: Field["content"]) =>
  typeof content === "string" ? content : { base64: toBase64(content.bytes), preview: content.preview };

function unpack({ fields, attachments, ...rest }: PackedOperation): RunOperation {
  const unpacked: RunOperation["fields"] = {};
  for (const name of LARGE_FIELDS) {
    const field = fields[name];
    if (field === undefined) continue;
    if (typeof field === "string") unpacked[name] = field;
    else unpacked[name] = { ...field, content: unpackContent(field.content) };
  }
  return {
    ...rest,
    fields: unpacked,
    attachments: attachments.map(({ base64, ...one }) => ({ ...one, data: fromBase64(base64) })),
  };
}

const unpackContent = (content: PackedField["content"]): Field["content"] =>
  typeof content === "string" ? content : { bytes: fromBase64(content.base64), preview: content.preview };

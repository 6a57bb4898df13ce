/** Copies examples of one dataset to another of the workspace. */
import { database } from "../../../db/client.ts";
import { type Blobs as StoredBlobs, openBlobs } from "../../../access/encryption/blobs.ts";
import { loadRing } from "../../../access/encryption/keys.ts";
import { CONNECTIONS, inParallel } from "../../../lib/parallel.ts";
import { Problem } from "../../../lib/problem.ts";
import { blobKey, Blobs, datasetPrefix } from "./bodies.ts";
import { enforceSchemas } from "../../datasets/examples/enforce.ts";
import { EXAMPLES } from "../../datasets/examples/limits.ts";
import { type ExampleRow, type ExamplesWanted, listExamples, measureExamples, writeVersion } from "./store.ts";
import type { DatasetRow } from "../../datasets/store.ts";

type Which = Pick<ExamplesWanted, "id" | "splits" | "asOf">;

/** The most bytes of bodies in D1 and the most objects in R2 that one request copies. An object takes two calls. */
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_OBJECTS = 1_000;

/**
 * Copies the examples that `which` selects, in one version of the target. Returns their new ids, made by `newId` from the place in
 * the list. @throws Problem 413 when they are too many or too large, 422 when one breaks a schema of the target
 */
export async function cloneExamples(
  env: Env,
  source: DatasetRow,
  target: DatasetRow,
  which: Which,
  newId: (place: number) => string,
): Promise<string[]> {
  const db = database(env.DB);
  const wanted = { ...which, dataset: source.id, limit: EXAMPLES + 1, offset: 0 };
  if ((await measureExamples(db, source.workspaceId, wanted)) > MOST_BYTES) {
    throw new Problem(413, `The examples are larger than ${MOST_BYTES} bytes. Copy fewer at a time.`);
  }
  const rows = await listExamples(db, source.workspaceId, wanted);
  if (rows.length > EXAMPLES) throw new Problem(413, `More than ${EXAMPLES} examples. Copy fewer at a time.`);
  if (rows.length === 0) return [];
  const objects = listObjects(rows, target);
  if (objects.size > MOST_OBJECTS) {
    throw new Problem(413, `More than ${MOST_OBJECTS} large bodies and attachments. Copy fewer examples at a time.`);
  }
  const enforce = enforceSchemas(target);
  for (const row of rows) {
    const [inputs, outputs] = [await readBody(env, row, "inputs", target), await readBody(env, row, "outputs", target)];
    enforce(row.id, { ...(inputs && { inputs }), ...(outputs && { outputs }) });
  }
  const ring = await loadRing(env, target.workspaceId);
  const bodies = new Blobs(datasetPrefix(target.workspaceId, target.id), ring);
  const states = rows.map((row, place) => ({
    ...row,
    ...(ring.isOn && moveAttachments(row, bodies)),
    id: newId(place),
  }));
  await copyObjects(openBlobs(env), objects);
  await bodies.store(openBlobs(env));
  await writeVersion(db, target.workspaceId, target.id, { states });
  return states.map(({ id }) => id);
}

/** The body to check against the target's schema; undefined if there is no schema. */
async function readBody(
  env: Env,
  row: ExampleRow,
  part: "inputs" | "outputs",
  { inputsSchema, outputsSchema }: DatasetRow,
) {
  if (!(part === "inputs" ? inputsSchema : outputsSchema)) return undefined;
  const hash = row[`${part}Hash`];
  const text = hash ? await (await openBlobs(env).get(blobKey(row, hash)))?.text() : row[part];
  return text === null || text === undefined ? undefined : Buffer.from(text);
}

/** Bodies that were stored in the row before the workspace had a key. */
function moveAttachments(row: ExampleRow, bodies: Blobs): Partial<ExampleRow> {
  const place = (text: string | null) => (text === null ? undefined : bodies.addBody(Buffer.from(text)));
  const [inputs, outputs] = [place(row.inputs), place(row.outputs)];
  return {
    ...(inputs && { inputs: inputs.text, inputsHash: inputs.hash }),
    ...(outputs && { outputs: outputs.text, outputsHash: outputs.hash }),
  };
}

/** The keys of the objects of the rows in R2, with those that they have in the target. */
function listObjects(rows: ExampleRow[], target: DatasetRow): Map<string, string> {
  const hashes = rows.flatMap(({ inputsHash, outputsHash, attachments }) => [
    inputsHash,
    outputsHash,
    ...attachments.map(({ hash }) => hash),
  ]);
  const keys = new Map<string, string>();
  for (const hash of new Set(hashes.filter((one) => one !== null))) {
    const to = blobKey({ workspaceId: target.workspaceId, datasetId: target.id }, hash);
    const [row] = rows;
    if (row) keys.set(blobKey(row, hash), to);
  }
  return keys;
}

async function copyObjects(blobs: StoredBlobs, keys: Map<string, string>): Promise<void> {
  await inParallel(keys, CONNECTIONS, async ([from, to]) => {
    const object = await blobs.get(from);
    if (object)
      await blobs.put(to, new Uint8Array(await object.arrayBuffer()), { httpMetadata: object.httpMetadata ?? {} });
  });
}

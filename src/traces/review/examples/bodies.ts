/** Bodies and attachments of examples in R2, by content hash. All objects of a dataset have one prefix. */
import type { SealedBlobs as StoredBlobs } from "../../../access/encryption/blobs.ts";
import type { Ring } from "../../../access/encryption/ring.ts";
import { Problem } from "../../../lib/problem.ts";
import { CONNECTIONS, inParallel } from "../../../lib/parallel.ts";
import { type PayloadBlob, putBlob } from "../../ingest/payloads.ts";
import type { ExampleAttachment } from "../datasets/table.ts";
import { BODY_BYTES, INLINE_BYTES, INLINE_TOTAL_BYTES } from "./schema.ts";
import { decodeJson } from "../../../lib/json.ts";
import { findSchemaBreach } from "../../../lib/json-schema.ts";
import { WorkBudget } from "../../../lib/work-budget.ts";
import type { DatasetRow } from "../datasets/store.ts";

/** A body as its row holds it: JSON text, or the hash of the text in R2. */
export interface StoredBody {
  text: string | null;
  hash: string | null;
}

export interface NewAttachment {
  name: string;
  type: string;
  data: Uint8Array;
}

export function datasetPrefix(workspaceId: string, datasetId: string): string {
  return `datasets/${workspaceId}/${datasetId}/`;
}

export function blobKey(row: { workspaceId: string; datasetId: string }, hash: string): string {
  return `${datasetPrefix(row.workspaceId, row.datasetId)}${hash}`;
}

/** Collects what a request stores in R2. `store` writes it, and must be called before the rows are written. */
export class ExampleBlobs {
  readonly #waiting = new Map<string, PayloadBlob>();
  #inline = 0;

  /** In a workspace that encrypts, all bodies are in R2, where they are sealed (access/encryption/blobs.ts). */
  constructor(
    private readonly prefix: string,
    private readonly ring: Ring,
  ) {}

  /** @throws Problem 413 when the body is too large, or too many small ones are in one request. */
  addBody(json: Uint8Array): StoredBody {
    if (json.byteLength > BODY_BYTES) {
      throw new Problem(413, `inputs and outputs of an example hold at most ${BODY_BYTES} bytes each.`);
    }
    if (json.byteLength <= INLINE_BYTES && !this.ring.isOn) {
      this.#inline += json.byteLength;
      if (this.#inline > INLINE_TOTAL_BYTES) {
        throw new Problem(
          413,
          `The small bodies hold more than ${INLINE_TOTAL_BYTES} bytes. Send fewer examples at a time.`,
        );
      }
      return { text: Buffer.from(json).toString(), hash: null };
    }
    return { text: null, hash: this.#add(json) };
  }

  addAttachment({ name, type, data }: NewAttachment): ExampleAttachment {
    return { name, type, bytes: data.byteLength, hash: this.#add(data, type) };
  }

  #add(data: Uint8Array, type?: string): string {
    // The type is part of the identity, because R2 stores it with the object.
    const hash = this.ring.hash(Buffer.concat([Buffer.from(`${type ?? ""}\n`), data]), "hex");
    this.#waiting.set(hash, { key: `${this.prefix}${hash}`, data, ...(type === undefined ? {} : { type }) });
    return hash;
  }

  async store(bucket: StoredBlobs): Promise<void> {
    await inParallel(this.#waiting.values(), CONNECTIONS, (blob) => putBlob(bucket, blob));
    this.#waiting.clear();
  }
}

export async function deleteBlobs(bucket: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects } = await bucket.list({ prefix, limit: 1000 });
    if (objects.length === 0) return;
    await bucket.delete(objects.map(({ key }) => key));
  }
}

// Holds the bodies of examples to the schemas of their dataset.

/** What checks the bodies of an example. Each is JSON; one that is left out is not checked. */
export type SchemaCheck = (id: string, bodies: { inputs?: Uint8Array; outputs?: Uint8Array }) => Promise<void>;

/** @throws Problem 422 (from what it gives) that names the body, the place in it, and the rule */
export function enforceSchemas({ inputsSchema, outputsSchema }: DatasetRow): SchemaCheck {
  const schemas = Object.entries({ inputs: inputsSchema, outputs: outputsSchema }).filter(([, schema]) => schema) as [
    "inputs" | "outputs",
    Record<string, unknown>,
  ][];
  const budget = new WorkBudget(
    "Checking the examples against the schemas of their dataset",
    "Send fewer examples, or use shorter lists in enum and fewer references.",
  );
  return async (id, bodies) => {
    for (const [name, schema] of schemas) {
      await budget.pause();
      const json = bodies[name];
      const found = json && findSchemaBreach(schema, decodeJson(json), budget);
      if (!found) continue;
      const at = [name, found.path].filter((part) => part !== "").join(".");
      throw new Problem(422, `Invalid example ${id}: ${at} ${found.rule}, by the dataset's ${name}_schema_definition.`);
    }
  };
}

/** Changes of the metadata of many examples at once. Splits are part of the metadata. */
import type { Database } from "../../../db/client.ts";
import { withinBytes } from "../../../lib/bytes.ts";
import type { DatasetRow } from "../store.ts";
import { boundExamples } from "./bound.ts";
import { EXAMPLE_METADATA_BYTES } from "./limits.ts";
import type { MetadataOperation } from "../../review/examples/schema.ts";
import { type ExampleRow, metadataOfExamples, writeVersion } from "../../review/examples/store.ts";
import { whenUnchanged } from "./unchanged.ts";

/**
 * Applies the operations in their order, to all examples in one version. Returns the ids of the examples that the dataset has.
 * @throws Problem 413 when the examples are too large for one request.
 */
export async function changeMetadata(
  db: Database,
  { workspaceId, id: datasetId }: DatasetRow,
  ids: string[],
  operations: MetadataOperation[],
): Promise<Set<string>> {
  await boundExamples(db, workspaceId, ids);
  return whenUnchanged(() => changeOnce(db, workspaceId, datasetId, ids, operations));
}

async function changeOnce(
  db: Database,
  workspaceId: string,
  datasetId: string,
  ids: string[],
  operations: MetadataOperation[],
): Promise<Set<string>> {
  const rows = await metadataOfExamples(db, workspaceId, datasetId, ids);
  if (rows.length === 0) return new Set();
  const metadata = rows.map((row) => ({ ...row, metadata: applyOperations(row.metadata, operations) }));
  await writeVersion(db, workspaceId, datasetId, { replaced: rows, metadata });
  return new Set(rows.map(({ id }) => id));
}

function applyOperations(metadata: ExampleRow["metadata"], operations: MetadataOperation[]): ExampleRow["metadata"] {
  const entries = new Map(Object.entries(metadata));
  for (const { key, operation, value, values = [] } of operations) {
    if (operation === "SET") entries.set(key, value ?? null);
    else entries.set(key, changedList(key, entries.get(key), operation === "ARRAY_ADD", values));
  }
  return withinBytes(Object.fromEntries(entries), EXAMPLE_METADATA_BYTES, "metadata, with what is stored,");
}

function changedList(key: string, stored: unknown, adds: boolean, values: string[]): unknown[] {
  const list: unknown[] = Array.isArray(stored) ? stored : key === "dataset_split" ? ["base"] : [];
  return adds ? [...new Set([...list, ...values])] : list.filter((item) => !values.includes(item as string));
}

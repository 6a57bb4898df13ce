/** Changes of the metadata of many examples at once. Splits are part of the metadata. */
import type { Database } from "../../../db/client.ts";
import { withinBytes } from "../../../http/bytes.ts";
import type { DatasetRow } from "../store.ts";
import { EXAMPLE_METADATA_BYTES } from "./limits.ts";
import type { MetadataOperation } from "./schema.ts";
import { type ExampleRow, findExamples, writeVersion } from "./store.ts";

/** Examples whose rows are held at a time. */
const AT_ONCE = 200;

/** Applies the operations in their order. Returns the ids of the examples that the dataset has. */
export async function changeMetadata(
  db: Database,
  dataset: DatasetRow,
  ids: string[],
  operations: MetadataOperation[],
): Promise<Set<string>> {
  const { workspaceId, id: datasetId } = dataset;
  const updated = new Set<string>();
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const rows = await findExamples(db, workspaceId, ids.slice(at, at + AT_ONCE));
    const own = rows.filter((row) => row.datasetId === datasetId);
    const states = own.map((row) => ({ ...row, metadata: applied(row.metadata, operations) }));
    if (states.length > 0) await writeVersion(db, workspaceId, datasetId, { ended: own.map(({ id }) => id), states });
    for (const { id } of own) updated.add(id);
  }
  return updated;
}

function applied(metadata: ExampleRow["metadata"], operations: MetadataOperation[]): ExampleRow["metadata"] {
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

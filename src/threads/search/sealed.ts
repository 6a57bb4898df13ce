/** Rows of the thread index in a workspace that encrypts: what was said is sealed, what is searched stays readable. */
import { loadRing, withRing } from "../../access/encryption/keys.ts";
import { openListed, sealJson } from "../../access/encryption/ring.ts";
import { isSealed, type Ring } from "../../access/encryption/ring.ts";
import { remoteProblem } from "../../lib/problem.ts";
import type { Json } from "../../lib/json.ts";
import type { IndexRow, ThreadFilter } from "./rpc.ts";

type Said = Pick<IndexRow, "config" | "values" | "interrupts" | "error">;

const rowPlace = (id: string) => ["thread index", id];

/** The row as the index may hold it. */
export function sealRow(ring: Ring, row: IndexRow): IndexRow {
  if (!ring.isOn) return row;
  const { config, values, interrupts, error } = row;
  const sealed = sealJson<Json>(ring, { config, values, interrupts, error } satisfies Said, rowPlace(row.id));
  return { ...row, config: {}, values: null, interrupts: sealed, error: null };
}

/** Rows as they were sealed. One whose key is destroyed has no values, and an error that says so. */
export async function openRows(env: Env, workspaceId: string, rows: IndexRow[]): Promise<IndexRow[]> {
  if (!rows.some(isSealedRow)) return rows;
  return withRing(env, workspaceId, (ring) => rows.map((row) => (isSealedRow(row) ? openRow(ring, row) : row)));
}

const isSealedRow = ({ interrupts }: IndexRow) => isSealed(interrupts.sealed);

function openRow(ring: Ring, row: IndexRow): IndexRow {
  const said = openListed(ring, row.interrupts, rowPlace(row.id)) as Said | undefined;
  if (said) return { ...row, ...said };
  const message = "The thread was encrypted with a key that has been destroyed.";
  return { ...row, hasValues: false, interrupts: {}, error: { error: "KeyDestroyed", message } };
}

/** 422 for a filter on values in a workspace that encrypts: an answer without the encrypted threads would look complete. */
export async function requireSearchable(env: Env, workspaceId: string, { values = {} }: ThreadFilter): Promise<void> {
  if (Object.keys(values).length === 0) return;
  if (!(await loadRing(env, workspaceId)).isOn) return;
  throw remoteProblem(
    422,
    "This workspace encrypts the states of its threads, so they cannot be searched by values. Search by metadata.",
  );
}

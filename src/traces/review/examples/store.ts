/** D1: examples. Each change of a dataset's examples is a version, and earlier states are kept. */
import { type SQL, sql, and, desc, eq, gt, isNull, lte, not, or } from "drizzle-orm";
import { contains, inList, inParameters } from "../../../db/conditions.ts";
import { examples, datasets, datasetVersions } from "../datasets/table.ts";
import { isExactNumber, isObject } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { type TraceFilter, parseFilter } from "../../filter/filter.ts";
import type { Database } from "../../../db/client.ts";
import { deleteAll, isTaken } from "../../../db/writes.ts";

// The part of the filter language that applies to examples: conditions on their metadata.

/** D1 binds 100 parameters a statement: `metadata` of the same request takes up to 60, and a value here takes two. */
const MAX_VALUES = 10;
/** D1 takes expressions of depth 100. */
const MAX_LEVELS = 5;

/** The condition of a filter's text. @throws Problem 400 */
export function exampleFilter(text: string): SQL {
  return compileFilter(parseFilter(text), { values: MAX_VALUES }, MAX_LEVELS);
}

function compileFilter(filter: TraceFilter, left: { values: number }, levels: number): SQL {
  if (levels === 0) throw invalid(`it nests deeper than ${MAX_LEVELS} levels`);
  const { op } = filter;
  if (op === "and" || op === "or") {
    const parts = filter.args.map((arg) => sql`(${compileFilter(arg, left, levels - 1)})`);
    return sql.join(parts, sql.raw(` ${op.toUpperCase()} `));
  }
  if (op === "not") return sql`NOT (${compileFilter(filter.arg, left, levels - 1)})`;
  if (op === "contains") {
    // Numbers of examples are stored as JavaScript has them.
    const metadata = Object.fromEntries(
      Object.entries(filter.metadata).map(([key, value]) => [
        key,
        isExactNumber(value) ? Number(value.rawJSON) : value,
      ]),
    );
    const values = Object.values(metadata);
    if (values.some((value) => Array.isArray(value) || isObject(value))) {
      throw invalid("has(metadata, …) takes an object of plain values; use the parameter metadata for others");
    }
    spendValues(left, values.length);
    return contains(examples.metadata, metadata);
  }
  if (op === "exists") {
    spendValues(left, 1);
    return sql`EXISTS (SELECT 1 FROM json_each(${examples.metadata}) m WHERE m.key = ${filter.key})`;
  }
  throw invalid("a filter of examples takes and, or, not, has(metadata, …) and exists(metadata, …)");
}

function spendValues(left: { values: number }, values: number): void {
  left.values -= values;
  if (left.values < 0) throw invalid(`a filter of examples holds at most ${MAX_VALUES} values`);
}

function invalid(what: string): Problem {
  return new Problem(400, `Invalid filter: ${what}.`);
}

export type ExampleRow = typeof examples.$inferSelect;
/** A state of an example that is about to be written. */
export type ExampleState = Omit<ExampleRow, "workspaceId" | "datasetId" | "since" | "until">;

const ofDataset = (workspaceId: string, datasetId: string) =>
  and(eq(examples.workspaceId, workspaceId), eq(examples.datasetId, datasetId));

/** The states that are valid at a time (milliseconds), or now. */
export function validAt(asOf?: number): SQL | undefined {
  if (asOf === undefined) return isNull(examples.until);
  return and(lte(examples.since, asOf), or(isNull(examples.until), gt(examples.until, asOf)));
}

interface Changes {
  /** The ids of examples that end. */
  removed?: string[];
  /** The states that new ones replace, as they were read. */
  replaced?: ExamplesRead[];
  states?: ExampleState[];
  /** New metadata of replaced states, which otherwise stay as they are. */
  metadata?: (ExamplesRead & { metadata: ExampleRow["metadata"] })[];
}

type ExamplesRead = Pick<ExampleRow, "id" | "since">;

/**
 * Writes one version of the dataset. Returns its time, milliseconds, which is later than the time of every earlier version.
 * @throws Problem 404 when the dataset was deleted. 409 when an id is in use, or when a replaced state is no longer the current
 * one: an example has one current state, so the whole version fails and no other change is lost.
 */
export async function writeVersion(
  db: Database,
  workspaceId: string,
  datasetId: string,
  { removed = [], replaced = [], states = [], metadata = [] }: Changes,
): Promise<number> {
  const now = Date.now();
  const isDataset = and(eq(datasets.workspaceId, workspaceId), eq(datasets.id, datasetId));
  const time = sql`(SELECT d.examples_at FROM datasets d WHERE d.workspace_id = ${workspaceId} AND d.id = ${datasetId})`;
  const end = (which: SQL) =>
    db
      .update(examples)
      .set({ until: time })
      .where(and(ofDataset(workspaceId, datasetId), isNull(examples.until), which));
  const statements = [
    ...inParameters(removed).map((ids) => end(sql`${examples.id} IN (SELECT value FROM json_each(${ids}))`)),
    ...inParameters(replaced.map(({ id, since }) => ({ id, since }))).map((read) =>
      end(
        sql`(${examples.id}, ${examples.since}) IN (SELECT value ->> '$.id', value ->> '$.since' FROM json_each(${read}))`,
      ),
    ),
    ...inParameters(states).map((json) =>
      db.insert(examples).select(
        sql`SELECT d.workspace_id, d.id, s.value ->> '$.id', d.examples_at, NULL, s.value ->> '$.createdAt', s.value ->> '$.name',
          s.value ->> '$.inputs', s.value ->> '$.outputs', s.value ->> '$.inputsHash', s.value ->> '$.outputsHash',
          s.value ->> '$.metadata', s.value ->> '$.attachments', s.value ->> '$.sourceRunId'
          FROM datasets d, json_each(${json}) s WHERE d.workspace_id = ${workspaceId} AND d.id = ${datasetId}`,
      ),
    ),
    ...inParameters(metadata).map((json) =>
      db.insert(examples).select(
        sql`SELECT e.workspace_id, e.dataset_id, e.id, d.examples_at, NULL, e.created_at, e.name, e.inputs, e.outputs, e.inputs_hash,
          e.outputs_hash, s.value ->> '$.metadata', e.attachments, e.source_run_id
          FROM datasets d, json_each(${json}) s, examples e WHERE d.workspace_id = ${workspaceId} AND d.id = ${datasetId}
          AND e.workspace_id = d.workspace_id AND e.dataset_id = d.id AND e.id = s.value ->> '$.id' AND e.since = s.value ->> '$.since'`,
      ),
    ),
  ];
  try {
    // A batch is one transaction. The time of the version is set first, and all of its rows take it from there.
    const [changed] = await db.batch([
      db
        .update(datasets)
        .set({ examplesAt: sql`max(${datasets.examplesAt} + 1, ${now})`, modifiedAt: now })
        .where(isDataset)
        .returning({ asOf: datasets.examplesAt }),
      db
        .insert(datasetVersions)
        .select(
          sql`SELECT d.workspace_id, d.id, d.examples_at FROM datasets d WHERE d.workspace_id = ${workspaceId} AND d.id = ${datasetId}`,
        ),
      ...statements,
    ]);
    const asOf = changed[0]?.asOf;
    if (asOf === undefined) throw new Problem(404, "Dataset not found.");
    return asOf;
  } catch (error) {
    if (isTaken(error, "examples")) throw new Problem(409, CONFLICT);
    throw error;
  }
}

const CONFLICT = "An example with one of these ids was created or changed at the same time. Send the request again.";

export interface ExampleQuery {
  dataset?: string;
  id?: string[];
  splits?: string[];
  metadata?: Record<string, unknown>;
  /** A filter's text. */
  filter?: string;
  /** Milliseconds. Now when it is left out. */
  asOf?: number;
  /** Only examples that come after this one. */
  after?: Pick<ExampleRow, "createdAt" | "id">;
  limit: number;
  offset: number;
}

function whereExamples(workspaceId: string, wanted: ExampleQuery): SQL | undefined {
  const { dataset, id, splits, metadata, filter, asOf, after } = wanted;
  return and(
    eq(examples.workspaceId, workspaceId),
    dataset === undefined ? undefined : eq(examples.datasetId, dataset),
    validAt(asOf),
    id && inList(examples.id, id),
    splits &&
      sql`EXISTS (SELECT 1 FROM json_each(${examples.metadata}, '$.dataset_split') s WHERE s.value IN (SELECT value FROM json_each(${JSON.stringify(splits)})))`,
    metadata && contains(examples.metadata, metadata),
    filter ? exampleFilter(filter) : undefined,
    after && sql`(${examples.createdAt}, ${examples.id}) < (${after.createdAt}, ${after.id})`,
  );
}

/** Newest first. */
export async function listExamples(db: Database, workspaceId: string, wanted: ExampleQuery): Promise<ExampleRow[]> {
  return db
    .select()
    .from(examples)
    .where(whereExamples(workspaceId, wanted))
    .orderBy(desc(examples.createdAt), desc(examples.id))
    .limit(wanted.limit)
    .offset(wanted.offset)
    .all();
}

/** The number of examples that `listExamples` finds. */
export async function countMatching(
  db: Database,
  workspaceId: string,
  wanted: Omit<ExampleQuery, "limit" | "offset">,
): Promise<number> {
  return db.$count(examples, whereExamples(workspaceId, { ...wanted, limit: 0, offset: 0 }));
}

/** The bytes of the bodies and metadata that `listExamples` returns. */
export async function measureExamples(db: Database, workspaceId: string, wanted: ExampleQuery): Promise<number> {
  const page = db
    .select({
      bytes:
        sql<number>`length(CAST(coalesce(${examples.inputs}, '') || coalesce(${examples.outputs}, '') || ${examples.metadata} AS BLOB))`.as(
          "bytes",
        ),
    })
    .from(examples)
    .where(whereExamples(workspaceId, wanted))
    .orderBy(desc(examples.createdAt), desc(examples.id))
    .limit(wanted.limit)
    .offset(wanted.offset)
    .as("page");
  const sum = await db
    .select({ bytes: sql<number>`coalesce(sum(${page.bytes}), 0)` })
    .from(page)
    .get();
  return sum?.bytes ?? 0;
}

/** The current states of the examples with these ids. */
export async function findExamples(
  db: Database,
  workspaceId: string,
  ids: string[],
  asOf?: number,
): Promise<ExampleRow[]> {
  return db
    .select()
    .from(examples)
    .where(and(eq(examples.workspaceId, workspaceId), inList(examples.id, ids), validAt(asOf)))
    .all();
}

/** The ids of a dataset's current examples, newest first. */
export async function listExampleIds(
  db: Database,
  workspaceId: string,
  datasetId: string,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .select({ id: examples.id })
    .from(examples)
    .where(and(ofDataset(workspaceId, datasetId), validAt()))
    .orderBy(desc(examples.createdAt), desc(examples.id))
    .limit(limit)
    .all();
  return rows.map(({ id }) => id);
}

/** Which of these ids are current examples of the dataset. */
export async function knownIds(
  db: Database,
  workspaceId: string,
  datasetId: string,
  ids: string[],
): Promise<Set<string>> {
  const rows = await db
    .select({ id: examples.id })
    .from(examples)
    .where(and(ofDataset(workspaceId, datasetId), inList(examples.id, ids), validAt()))
    .all();
  return new Set(rows.map(({ id }) => id));
}

/** The number of current examples of each of these datasets. A dataset without examples is absent. */
export async function countExamples(
  db: Database,
  workspaceId: string,
  datasetIds: string[],
): Promise<Map<string, number>> {
  const rows = await db
    .select({ id: examples.datasetId, count: sql<number>`count(*)` })
    .from(examples)
    .where(and(eq(examples.workspaceId, workspaceId), inList(examples.datasetId, datasetIds), isNull(examples.until)))
    .groupBy(examples.datasetId)
    .all();
  return new Map(rows.map(({ id, count }) => [id, count]));
}

/** The splits of a dataset at a time, by name. */
export async function listSplits(
  db: Database,
  workspaceId: string,
  datasetId: string,
  asOf?: number,
): Promise<string[]> {
  const rows = await db.all<{ split: string }>(
    sql`SELECT DISTINCT s.value AS split FROM ${examples}, json_each(${examples.metadata}, '$.dataset_split') s
      WHERE ${and(ofDataset(workspaceId, datasetId), validAt(asOf))} AND s.type = 'text' ORDER BY 1`,
  );
  return rows.map(({ split }) => split);
}

/** The metadata of the dataset's current examples with these ids. */
export async function metadataOfExamples(db: Database, workspaceId: string, datasetId: string, ids: string[]) {
  return db
    .select({ id: examples.id, since: examples.since, metadata: examples.metadata })
    .from(examples)
    .where(and(ofDataset(workspaceId, datasetId), inList(examples.id, ids), validAt()))
    .all();
}

/** The current examples with these ids, by dataset. */
export async function idsByDataset(db: Database, workspaceId: string, ids: string[]): Promise<Map<string, string[]>> {
  const rows = await db
    .select({ id: examples.id, datasetId: examples.datasetId })
    .from(examples)
    .where(and(eq(examples.workspaceId, workspaceId), inList(examples.id, ids), validAt()))
    .all();
  const groups = Map.groupBy(rows, ({ datasetId }) => datasetId);
  return new Map([...groups].map(([datasetId, group]) => [datasetId, group.map(({ id }) => id)]));
}

/** The datasets that have these examples in any version. */
export async function listDatasetIds(db: Database, workspaceId: string, ids: string[]): Promise<string[]> {
  const rows = await db
    .selectDistinct({ id: examples.datasetId })
    .from(examples)
    .where(and(eq(examples.workspaceId, workspaceId), inList(examples.id, ids)))
    .all();
  return rows.map(({ id }) => id);
}

/** Deletes all states of examples. */
export async function eraseExamples(db: Database, workspaceId: string, datasetId: string, ids: string[]) {
  await deleteAll(db, examples, and(ofDataset(workspaceId, datasetId), inList(examples.id, ids)));
}

/** The hashes of the R2 objects of these examples in all versions, and which of them no other example of the dataset has. */
export async function hashesOfExamples(db: Database, workspaceId: string, datasetId: string, ids: string[]) {
  const all = await listHashes(db, and(ofDataset(workspaceId, datasetId), inList(examples.id, ids)));
  return { all, own: await hashesWithout(db, workspaceId, datasetId, ids, all) };
}

/** Which of these hashes no example of the dataset has besides those with these ids. */
export async function hashesWithout(
  db: Database,
  workspaceId: string,
  datasetId: string,
  ids: string[],
  hashes: string[],
): Promise<string[]> {
  const others = and(ofDataset(workspaceId, datasetId), not(inList(examples.id, ids)));
  const shared = new Set(await listHashes(db, others, hashes));
  return hashes.filter((hash) => !shared.has(hash));
}

/** The hashes of the R2 objects of these states, or those of `among` which they have. */
async function listHashes(db: Database, which: SQL | undefined, wanted?: string[]): Promise<string[]> {
  const rows = await db.all<{ hash: string }>(
    sql`SELECT DISTINCT hash FROM (
      SELECT ${examples.inputsHash} AS hash FROM ${examples} WHERE ${which}
      UNION ALL SELECT ${examples.outputsHash} FROM ${examples} WHERE ${which}
      UNION ALL SELECT a.value ->> '$.hash' FROM ${examples}, json_each(${examples.attachments}) a WHERE ${which}
    ) WHERE hash IS NOT NULL ${wanted ? sql`AND hash IN (SELECT value FROM json_each(${JSON.stringify(wanted)}))` : sql``}`,
  );
  return rows.map(({ hash }) => hash);
}

export async function deleteDatasetExamples(db: Database, workspaceId: string, datasetId: string): Promise<void> {
  await deleteAll(db, examples, ofDataset(workspaceId, datasetId));
}

/** Which examples differ between two times. */
export async function diffExamples(db: Database, workspaceId: string, datasetId: string, from: number, to: number) {
  const at = (asOf: number) =>
    db
      .select({ id: examples.id, since: examples.since })
      .from(examples)
      .where(and(ofDataset(workspaceId, datasetId), validAt(asOf)))
      .all();
  const [before, after] = [await at(from), await at(to)];
  const known = new Map(before.map(({ id, since }) => [id, since]));
  const left = new Set(after.map(({ id }) => id));
  return {
    examples_added: after.flatMap(({ id }) => (known.has(id) ? [] : [id])),
    examples_modified: after.flatMap(({ id, since }) => (known.has(id) && known.get(id) !== since ? [id] : [])),
    examples_removed: before.flatMap(({ id }) => (left.has(id) ? [] : [id])),
  };
}

const ATTEMPTS = 5;

/**
 * Carries out a change that reads examples and writes a version. It is repeated when another request changed one of the
 * examples in between, so that neither change is lost.
 * @throws Problem 409 after five attempts
 */
export async function whenUnchanged<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof Problem && error.status === 409) || attempt === ATTEMPTS) throw error;
    }
  }
}

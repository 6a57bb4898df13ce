/** D1: prompts, their likes, commits and tags. */
import { and, asc, desc, eq, exists, getTableColumns, gt, type SQL, sql, gte, lt, or } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { deleteAll, insertBelow, rowIf } from "../../db/writes.ts";
import { promptCommits, promptLikes, prompts, promptTags } from "./table.ts";
import { HASH_START, LATEST } from "./schema.ts";

export type PromptRow = typeof prompts.$inferSelect;
/** A prompt with the likes of it. */
export type LikedPrompt = PromptRow & { likes: number; isLiked: boolean };

/** The most prompts of a workspace. */
export const MAX_PROMPTS = 1_000;

const ofWorkspace = (workspaceId: string) => eq(prompts.workspaceId, workspaceId);

/** False when the workspace has as many as it may have. @throws when the name is taken (`isTaken`) */
export async function insertPrompt(db: Database, row: PromptRow): Promise<boolean> {
  return insertBelow(db, prompts, row, ofWorkspace(row.workspaceId), MAX_PROMPTS);
}

const countLikes = (more?: SQL) =>
  sql`(SELECT count(*) FROM prompt_likes l WHERE l.prompt_id = ${prompts.id}${more ? sql` AND ${more}` : sql``})`;

function whereVisible(db: Database, person: string) {
  return db
    .select({
      ...getTableColumns(prompts),
      likes: sql<number>`${countLikes()}`.as("likes"),
      isLiked: sql<boolean>`${countLikes(sql`l.person = ${person}`)}`.mapWith(Boolean).as("is_liked"),
    })
    .from(prompts);
}

export async function findPrompt(
  db: Database,
  workspaceId: string,
  name: string,
  person: string,
): Promise<LikedPrompt | undefined> {
  return whereVisible(db, person)
    .where(and(ofWorkspace(workspaceId), eq(prompts.name, name)))
    .get();
}

export async function findPromptById(
  db: Database,
  workspaceId: string,
  id: string,
  person: string,
): Promise<LikedPrompt | undefined> {
  return whereVisible(db, person)
    .where(and(ofWorkspace(workspaceId), eq(prompts.id, id)))
    .get();
}

interface PromptQuery {
  isArchived?: boolean | undefined;
  labels?: string[] | undefined;
  hasCommits?: boolean | undefined;
  /** A part of the name, or of a description that is not sealed. */
  query?: string | undefined;
}

function matches(workspaceId: string, { isArchived, labels = [], hasCommits, query }: PromptQuery): SQL | undefined {
  const described = sql`json_extract(${prompts.about}, '$.description')`;
  const within = (text: SQL | typeof prompts.name) => sql`instr(lower(coalesce(${text}, '')), lower(${query})) > 0`;
  return and(
    ofWorkspace(workspaceId),
    isArchived === undefined ? undefined : eq(prompts.isArchived, isArchived),
    hasCommits === undefined ? undefined : hasCommits ? gt(prompts.commits, 0) : eq(prompts.commits, 0),
    query === undefined ? undefined : sql`(${within(prompts.name)} OR ${within(described)})`,
    ...labels.map((label) => sql`EXISTS (SELECT 1 FROM json_each(${prompts.labels}) WHERE value = ${label})`),
  );
}

/** The most bytes of the descriptions and readmes of a page. */
export const PAGE_BYTES = 12 * 1024 * 1024;

/** A page of prompts. Its rows are undefined when they are larger than `PAGE_BYTES`. */
export async function listPrompts(
  db: Database,
  workspaceId: string,
  person: string,
  wanted: PromptQuery,
  { byLikes, isAscending, limit, offset }: { byLikes: boolean; isAscending: boolean; limit: number; offset: number },
): Promise<{ rows: LikedPrompt[] | undefined; total: number }> {
  const order = isAscending ? asc : desc;
  const where = matches(workspaceId, wanted);
  const page = whereVisible(db, person)
    .where(where)
    .orderBy(...(byLikes ? [order(countLikes())] : []), order(prompts.updatedAt), order(prompts.id))
    .limit(limit)
    .offset(offset);
  const [[size], total] = await Promise.all([
    db.all<{ bytes: number }>(sql`SELECT coalesce(sum(length(CAST(about AS BLOB))), 0) AS bytes FROM (${page})`),
    db.$count(prompts, where),
  ]);
  return { rows: (size?.bytes ?? 0) > PAGE_BYTES ? undefined : await page.all(), total };
}

/** False when the prompt is gone, or its texts are others than those of `row`, of which the changes are made. */
export async function updatePrompt(
  db: Database,
  { workspaceId, id, about }: PromptRow,
  changes: Partial<PromptRow>,
): Promise<boolean> {
  const isSame = changes.about === undefined ? undefined : eq(prompts.about, about);
  const { meta } = await db
    .update(prompts)
    .set(changes)
    .where(and(ofWorkspace(workspaceId), eq(prompts.id, id), isSame));
  return meta.changes > 0;
}

/** Deletes a prompt with all of its rows. The prompt goes last, so that a request that failed can be sent again. */
export async function deletePrompt(db: Database, { id }: Pick<PromptRow, "id">): Promise<void> {
  await deleteAll(db, promptLikes, eq(promptLikes.promptId, id));
  await deleteAll(db, promptTags, eq(promptTags.promptId, id));
  await deleteAll(db, promptCommits, eq(promptCommits.promptId, id));
  // What other requests have added since.
  await db.batch([
    db.delete(promptLikes).where(eq(promptLikes.promptId, id)),
    db.delete(promptTags).where(eq(promptTags.promptId, id)),
    db.delete(promptCommits).where(eq(promptCommits.promptId, id)),
    db.delete(prompts).where(eq(prompts.id, id)),
  ]);
}

/** A condition of an insert: the prompt still exists, with this number of commits. */
export function isThere(db: Database, id: string, commits?: number): SQL {
  const found = db
    .select({ id: prompts.id })
    .from(prompts)
    .where(and(eq(prompts.id, id), commits === undefined ? undefined : eq(prompts.commits, commits)));
  return exists(found);
}

/** The number of likes after it. */
export async function likePrompt(db: Database, promptId: string, person: string, likes: boolean): Promise<number> {
  const own = and(eq(promptLikes.promptId, promptId), eq(promptLikes.person, person));
  if (likes) {
    await db.run(
      sql`INSERT OR IGNORE INTO prompt_likes (prompt_id, person) SELECT ${promptId}, ${person} WHERE ${isThere(db, promptId)}`,
    );
  } else await db.delete(promptLikes).where(own);
  return db.$count(promptLikes, eq(promptLikes.promptId, promptId));
}

// D1: commits of prompts, and the tags that name them.

export type CommitRow = typeof promptCommits.$inferSelect;
export type TagRow = typeof promptTags.$inferSelect & { hash: string };

/** The most commits, and the most tags, of a prompt. */
export const MAX_COMMITS = 10_000;
export const MAX_TAGS = 100;

/**
 * Adds a commit as the latest of its prompt. False when another request has added one since the prompt was read, or has deleted
 * the prompt.
 */
export async function insertCommit(db: Database, prompt: PromptRow, row: CommitRow): Promise<boolean> {
  const condition = isThere(db, prompt.id, prompt.commits);
  const [inserted] = await db.batch([
    db
      .insert(promptCommits)
      .select(rowIf(promptCommits, row, condition))
      .returning({ id: promptCommits.id }),
    db
      .update(prompts)
      .set({ commits: row.number, lastHash: row.hash, updatedAt: row.createdAt })
      .where(and(eq(prompts.id, prompt.id), eq(prompts.commits, prompt.commits))),
  ]);
  return inserted.length > 0;
}

const ofPrompt = (promptId: string) => eq(promptCommits.promptId, promptId);

export async function findCommitById(db: Database, promptId: string, id: string): Promise<CommitRow | undefined> {
  return db
    .select()
    .from(promptCommits)
    .where(and(ofPrompt(promptId), eq(promptCommits.id, id)))
    .get();
}

/** What a word names: the latest commit, the commit of a tag, one by its id, or those whose hash begins so. At most two. */
export async function findCommits(db: Database, promptId: string, word: string): Promise<CommitRow[]> {
  const all = db.select().from(promptCommits);
  if (word === LATEST) return all.where(ofPrompt(promptId)).orderBy(desc(promptCommits.number)).limit(1).all();
  // "g" follows the last hexadecimal digit. D1 takes no pattern of LIKE as long as a hash.
  if (HASH_START.test(word))
    return all
      .where(and(ofPrompt(promptId), gte(promptCommits.hash, word), lt(promptCommits.hash, `${word}g`)))
      .limit(2)
      .all();
  const tagged = db
    .select({ id: promptTags.commitId })
    .from(promptTags)
    .where(and(eq(promptTags.promptId, promptId), eq(promptTags.name, word)));
  const named = or(eq(promptCommits.id, word), sql`${promptCommits.id} IN (${tagged})`);
  return all
    .where(and(ofPrompt(promptId), named))
    .limit(2)
    .all();
}

/** The bytes of the manifests of a page that is answered with all of them. */
const COMMIT_PAGE_BYTES = 4 * 1024 * 1024;

/** Newest first. Manifests are left out of a page on which they are too large together. */
export async function listCommits(
  db: Database,
  promptId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<(Omit<CommitRow, "manifest"> & { manifest: string | null })[]> {
  const page = db
    .select()
    .from(promptCommits)
    .where(ofPrompt(promptId))
    .orderBy(desc(promptCommits.number))
    .limit(limit)
    .offset(offset);
  const { total } = (await db.get<{ total: number | null }>(
    sql`SELECT sum(length(CAST(manifest AS BLOB))) AS total FROM (${page})`,
  )) ?? { total: 0 };
  if ((total ?? 0) <= COMMIT_PAGE_BYTES) return page.all();
  const { manifest: _, ...small } = getTableColumns(promptCommits);
  return db
    .select({ ...small, manifest: sql<null>`NULL`.as("manifest") })
    .from(promptCommits)
    .where(ofPrompt(promptId))
    .orderBy(desc(promptCommits.number))
    .limit(limit)
    .offset(offset)
    .all();
}

/** Names a commit, or moves a name to it. False when the prompt has as many tags as it may have, or is deleted. */
export async function writeTag(db: Database, row: typeof promptTags.$inferSelect): Promise<boolean> {
  const { promptId, name, commitId, updatedAt } = row;
  const others = sql`(SELECT count(*) FROM prompt_tags t WHERE t.prompt_id = ${promptId} AND t.name <> ${name}) < ${MAX_TAGS}`;
  const written = await db
    .insert(promptTags)
    .select(rowIf(promptTags, row, and(isThere(db, promptId), others)))
    .onConflictDoUpdate({ target: [promptTags.promptId, promptTags.name], set: { commitId, updatedAt } })
    .returning({ name: promptTags.name });
  return written.length > 0;
}

/** By name. */
export async function listTags(db: Database, promptId: string, name?: string): Promise<TagRow[]> {
  const rows = await db
    .select({ tag: promptTags, hash: promptCommits.hash })
    .from(promptTags)
    .innerJoin(promptCommits, eq(promptCommits.id, promptTags.commitId))
    .where(and(eq(promptTags.promptId, promptId), name === undefined ? undefined : eq(promptTags.name, name)))
    .orderBy(asc(promptTags.name))
    .all();
  return rows.map(({ tag, hash }) => ({ ...tag, hash }));
}

export async function deleteTag(db: Database, promptId: string, name: string): Promise<void> {
  await db.delete(promptTags).where(and(eq(promptTags.promptId, promptId), eq(promptTags.name, name)));
}

/** D1: commits of prompts, and the tags that name them. */
import { and, asc, desc, eq, getTableColumns, gte, lt, or, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { rowIf } from "../db/writes.ts";
import { promptCommits, prompts, promptTags } from "../agents/prompts/table.ts";
import { HASH_START, LATEST } from "../agents/prompts/schema.ts";
import { isThere, type PromptRow } from "../agents/prompts/store.ts";

export type CommitRow = typeof promptCommits.$inferSelect;
export type TagRow = typeof promptTags.$inferSelect & { hash: string };

/** The most commits, and the most tags, of a prompt. */
export const MOST_COMMITS = 10_000;
export const MOST_TAGS = 100;

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
const PAGE_BYTES = 4 * 1024 * 1024;

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
  if ((total ?? 0) <= PAGE_BYTES) return page.all();
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
  const others = sql`(SELECT count(*) FROM prompt_tags t WHERE t.prompt_id = ${promptId} AND t.name <> ${name}) < ${MOST_TAGS}`;
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

/** D1: prompts and their likes. Commits and tags are in commit-store.ts. */
import { and, asc, desc, eq, exists, getTableColumns, gt, type SQL, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { deleteAll } from "../../db/writes.ts";
import { insertBelow } from "../../db/writes.ts";
import { promptCommits, promptLikes, prompts, promptTags } from "./table.ts";

export type PromptRow = typeof prompts.$inferSelect;
/** A prompt with the likes of it. */
export type LikedPrompt = PromptRow & { likes: number; isLiked: boolean };

/** The most prompts of a workspace. */
export const MOST_PROMPTS = 1_000;

const ofWorkspace = (workspaceId: string) => eq(prompts.workspaceId, workspaceId);

/** False when the workspace has as many as it may have. @throws when the name is taken (`isTaken`) */
export async function insertPrompt(db: Database, row: PromptRow): Promise<boolean> {
  return insertBelow(db, prompts, row, ofWorkspace(row.workspaceId), MOST_PROMPTS);
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

interface PromptsWanted {
  isArchived?: boolean | undefined;
  labels?: string[] | undefined;
  hasCommits?: boolean | undefined;
  /** A part of the name, or of a description that is not sealed. */
  query?: string | undefined;
}

function matches(workspaceId: string, { isArchived, labels = [], hasCommits, query }: PromptsWanted): SQL | undefined {
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
  wanted: PromptsWanted,
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

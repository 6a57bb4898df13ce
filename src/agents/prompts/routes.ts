/** Prompts, in the calls of LangSmith's SDKs: create, list, read, change, delete, like. Mounted at `/` and at `/api/v1`. */
import { Hono, type Context } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { nameCaller, type App, newOrEarlier } from "../../http/context.ts";
import { database } from "../../db/client.ts";
import { withRing, loadRing } from "../../access/encryption/keys.ts";
import { AnyObject, Count, ResultMessage, Time } from "../../http/shapes.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { body, param, query } from "../../http/validate.ts";
import { existingCommit, existingPrompt, OWN, commitPrompt, pullManifest, handleFor } from "./commit.ts";
import {
  findCommitById,
  listCommits,
  deleteTag,
  listTags,
  MAX_TAGS,
  type TagRow,
  writeTag,
  type LikedPrompt,
  deletePrompt,
  findPromptById,
  insertPrompt,
  likePrompt,
  listPrompts,
  MAX_PROMPTS,
  PAGE_BYTES,
  updatePrompt,
} from "./store.ts";
import {
  Commit,
  openDescription,
  openManifest,
  toWireCommit,
  Tag,
  toWireTag,
  openPromptTexts,
  Prompt,
  sealPromptTexts,
  toWirePrompt,
} from "./row.ts";
import * as schema from "./schema.ts";
import { Problem } from "../../lib/problem.ts";
import { uuidv7 } from "../../lib/uuid.ts";
import { findWorkspace } from "../../access/auth/store.ts";
import { isTaken } from "../../db/writes.ts";

// Commits of prompts: add, list, pull.

const commitDoc = createDoc("Prompts");

const Pulled = v.pipe(
  v.object({
    commit_hash: v.string(),
    manifest: AnyObject,
    examples: v.array(AnyObject),
    description: v.nullable(v.string()),
    model_provider: v.nullable(v.string()),
    model_config: v.nullable(AnyObject),
  }),
  v.title("PulledPrompt"),
);

export const commits = new Hono<App>()
  .post(
    "/commits/:owner/:repo",
    commitDoc("Commit a prompt", v.object({ commit: Commit })),
    param(schema.PromptPath),
    body(schema.CreateCommit),
    async (c) => {
      const prompt = await existingPrompt(c, c.req.valid("param"));
      const { id, earlier } = await newOrEarlier(c, (one) => findCommitById(database(c.env.DB), prompt.id, one));
      const row = earlier ?? (await commitPrompt(c.env, prompt, { id, author: nameCaller(c), ...c.req.valid("json") }));
      const detail = { name: prompt.name, hash: row.hash };
      if (!earlier) await audit(c, { action: "prompt.committed", targetId: prompt.id, detail });
      const place = { owner: OWN, repo: prompt.name };
      return c.json({ commit: await withRing(c.env, prompt.workspaceId, (ring) => toWireCommit(ring, place, row)) });
    },
  )
  .get(
    "/commits/:owner/:repo",
    commitDoc("List a prompt's commits, newest first", v.object({ commits: v.array(Commit), total: Count })),
    param(schema.PromptPath),
    query(schema.ListCommits),
    async (c) => {
      const prompt = await existingPrompt(c, c.req.valid("param"));
      const rows = await listCommits(database(c.env.DB), prompt.id, c.req.valid("query"));
      const place = { owner: OWN, repo: prompt.name };
      const listed = await withRing(c.env, prompt.workspaceId, (ring) =>
        rows.map((row) => toWireCommit(ring, place, row)),
      );
      return c.json({ commits: listed, total: prompt.commits });
    },
  )
  .get(
    "/commits/:owner/:repo/:commit",
    commitDoc("Pull a prompt: a commit by its tag or hash, or the latest", Pulled),
    param(schema.CommitPath),
    query(schema.PullCommit),
    async (c) => {
      const { commit, ...path } = c.req.valid("param");
      const prompt = await existingPrompt(c, path);
      const row = await existingCommit(c, prompt, commit);
      return withRing(c.env, prompt.workspaceId, (ring) => {
        const shown = pullManifest(openManifest(ring, row), c.req.valid("query").include_model ?? false);
        return c.json({ commit_hash: row.hash, examples: [], description: openDescription(ring, row), ...shown });
      });
    },
  );

// Tags of prompts: names that move from one commit to another, such as `prod`.

const tagDoc = createDoc("Prompts");

export const tags = new Hono<App>()
  .post(
    "/repos/:owner/:repo/tags",
    tagDoc("Tag a commit, or move the tag to it", Tag),
    param(schema.PromptPath),
    body(schema.CreateTag),
    async (c) => {
      const prompt = await existingPrompt(c, c.req.valid("param"));
      const { tag_name, commit_id } = c.req.valid("json");
      return c.json(toWireTag(await moveTag(c, prompt, tag_name, commit_id)));
    },
  )
  .get(
    "/repos/:owner/:repo/tags",
    tagDoc("List a prompt's tags", v.array(Tag)),
    param(schema.PromptPath),
    async (c) => {
      const prompt = await existingPrompt(c, c.req.valid("param"));
      return c.json((await listTags(database(c.env.DB), prompt.id)).map(toWireTag));
    },
  )
  .get("/repos/:owner/:repo/tags/:tag_name", tagDoc("Read a tag", Tag), param(schema.TagPath), async (c) => {
    const { tag_name, ...path } = c.req.valid("param");
    return c.json(toWireTag(await existingTag(c, await existingPrompt(c, path), tag_name)));
  })
  .patch(
    "/repos/:owner/:repo/tags/:tag_name",
    tagDoc("Move a tag to another commit", Tag),
    param(schema.TagPath),
    body(schema.MoveTag),
    async (c) => {
      const { tag_name, ...path } = c.req.valid("param");
      const prompt = await existingPrompt(c, path);
      await existingTag(c, prompt, tag_name);
      return c.json(toWireTag(await moveTag(c, prompt, tag_name, c.req.valid("json").commit_id)));
    },
  )
  .delete("/repos/:owner/:repo/tags/:tag_name", tagDoc("Delete a tag", NOTHING), param(schema.TagPath), async (c) => {
    const { tag_name, ...path } = c.req.valid("param");
    const prompt = await existingPrompt(c, path);
    await existingTag(c, prompt, tag_name);
    await audit(c, { action: "prompt.untagged", targetId: prompt.id, detail: { name: prompt.name, tag: tag_name } });
    await deleteTag(database(c.env.DB), prompt.id, tag_name);
    return c.body(null, 204);
  });

async function existingTag(c: Context<App>, prompt: LikedPrompt, name: string): Promise<TagRow> {
  const [row] = await listTags(database(c.env.DB), prompt.id, name);
  if (!row) throw new Problem(404, "The prompt has no tag of this name.");
  return row;
}

async function moveTag(c: Context<App>, prompt: LikedPrompt, name: string, word: string): Promise<TagRow> {
  const db = database(c.env.DB);
  const commit = await existingCommit(c, prompt, word);
  const now = Date.now();
  const row = { id: uuidv7(), promptId: prompt.id, name, commitId: commit.id, createdAt: now, updatedAt: now };
  if (!(await writeTag(db, row))) throw new Problem(409, `A prompt has at most ${MAX_TAGS} tags. Delete one first.`);
  const detail = { name: prompt.name, tag: name, hash: commit.hash };
  await audit(c, { action: "prompt.tagged", targetId: prompt.id, detail });
  return existingTag(c, prompt, name);
}

const doc = createDoc("Prompts");

const OnePrompt = v.object({ repo: Prompt });
const Settings = v.pipe(
  v.object({ id: v.string(), display_name: v.string(), created_at: Time, tenant_handle: v.string() }),
  v.title("WorkspaceSettings"),
);

export const prompts = new Hono<App>()
  .get("/settings", doc("Read the workspace's name and handle", Settings), async (c) => {
    const { workspaceId } = c.get("principal");
    const row = await findWorkspace(database(c.env.DB), workspaceId);
    const name = row?.name ?? workspaceId;
    const created_at = new Date(row?.createdAt ?? 0).toISOString();
    return c.json({ id: workspaceId, display_name: name, created_at, tenant_handle: handleFor(name) });
  })
  .post("/repos", doc("Create a prompt", OnePrompt), body(schema.CreatePrompt), async (c) => {
    const given = c.req.valid("json");
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const { id, earlier } = await newOrEarlier(c, (one) => findPromptById(db, workspaceId, one, nameCaller(c)));
    if (earlier) return c.json({ repo: await toWire(c.env, earlier) });
    const now = Date.now();
    const about = { description: given.description ?? null, readme: given.readme ?? null };
    const row: LikedPrompt = {
      id,
      workspaceId,
      name: given.repo_handle,
      about: sealPromptTexts(await loadRing(c.env, workspaceId), id, about),
      labels: given.tags ?? [],
      isArchived: false,
      commits: 0,
      lastHash: null,
      createdAt: now,
      updatedAt: now,
      likes: 0,
      isLiked: false,
    };
    const made = await insertPrompt(db, row).catch((error: unknown) => {
      throw isTaken(error) ? new Problem(409, `A prompt with the name ${row.name} exists.`) : error;
    });
    if (!made) throw new Problem(409, `A workspace has at most ${MAX_PROMPTS} prompts. Delete one first.`);
    await audit(c, { action: "prompt.created", targetId: id, detail: { name: row.name } });
    return c.json({ repo: await toWire(c.env, row) });
  })
  .get(
    "/repos",
    doc("List prompts", v.object({ repos: v.array(Prompt), total: Count })),
    query(schema.ListPrompts),
    async (c) => {
      const given = c.req.valid("query");
      if (given.is_public) return c.json({ repos: [], total: 0 });
      const { workspaceId } = c.get("principal");
      const wanted = {
        isArchived: given.is_archived,
        labels: given.tags,
        hasCommits: given.has_commits,
        query: given.query,
      };
      const { rows, total } = await listPrompts(database(c.env.DB), workspaceId, nameCaller(c), wanted, {
        byLikes: given.sort_field === "num_likes",
        isAscending: given.sort_direction === "asc",
        limit: given.limit,
        offset: given.offset,
      });
      if (!rows) throw new Problem(413, `The prompts are larger than ${PAGE_BYTES} bytes. Use a smaller limit.`);
      const repos = await withRing(c.env, workspaceId, (ring) => rows.map((row) => toWirePrompt(ring, OWN, row)));
      return c.json({ repos, total });
    },
  )
  .get("/repos/:owner/:repo", doc("Read a prompt", OnePrompt), param(schema.PromptPath), async (c) =>
    c.json({ repo: await toWire(c.env, await existingPrompt(c, c.req.valid("param"))) }),
  )
  .patch(
    "/repos/:owner/:repo",
    doc("Change a prompt", OnePrompt),
    param(schema.PromptPath),
    body(schema.UpdatePrompt),
    async (c) => {
      const { description, readme, tags: labels, is_archived: isArchived } = c.req.valid("json");
      const prepareChanges = (row: LikedPrompt) =>
        withRing(c.env, row.workspaceId, (ring) => {
          const isSame = description === undefined && readme === undefined;
          const held = isSame ? undefined : openPromptTexts(ring, row);
          const about = held && { description: description ?? held.description, readme: readme ?? held.readme };
          return {
            ...(about && { about: sealPromptTexts(ring, row.id, about) }),
            ...(labels && { labels }),
            ...(isArchived !== undefined && { isArchived }),
            updatedAt: Date.now(),
          };
        });
      let row = await existingPrompt(c, c.req.valid("param"));
      let changes = await prepareChanges(row);
      // Another request may have changed the texts since they were read.
      while (!(await updatePrompt(database(c.env.DB), row, changes))) {
        row = await existingPrompt(c, c.req.valid("param"));
        changes = await prepareChanges(row);
      }
      await audit(c, { action: "prompt.updated", targetId: row.id, detail: { name: row.name } });
      return c.json({ repo: await toWire(c.env, { ...row, ...changes }) });
    },
  )
  .delete(
    "/repos/:owner/:repo",
    doc("Delete a prompt with its commits", ResultMessage),
    param(schema.PromptPath),
    async (c) => {
      const row = await existingPrompt(c, c.req.valid("param"));
      await audit(c, { action: "prompt.deleted", targetId: row.id, detail: { name: row.name } });
      await deletePrompt(database(c.env.DB), row);
      return c.json({ message: "Prompt deleted" });
    },
  )
  .post(
    "/likes/:owner/:repo",
    doc("Like a prompt, or no longer", v.object({ likes: Count })),
    param(schema.PromptPath),
    body(schema.Like),
    async (c) => {
      const row = await existingPrompt(c, c.req.valid("param"));
      const likes = await likePrompt(database(c.env.DB), row.id, nameCaller(c), c.req.valid("json").like);
      return c.json({ likes });
    },
  )
  .route("/", commits)
  .route("/", tags);

const toWire = async (env: Env, row: LikedPrompt) =>
  withRing(env, row.workspaceId, (ring) => toWirePrompt(ring, OWN, row));

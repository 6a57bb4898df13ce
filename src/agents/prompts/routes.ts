/** Prompts, in the calls of LangSmith's SDKs: create, list, read, change, delete, like. Mounted at `/` and at `/api/v1`. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { nameCaller } from "../../http/context.ts";
import { findWorkspace } from "../../access/auth/store.ts";
import { database } from "../../db/client.ts";
import { isTaken } from "../../db/writes.ts";
import { loadRing, withRing } from "../../access/encryption/keys.ts";
import { Count, Message, Time } from "../../http/shapes.ts";
import { createDoc } from "../../http/route.ts";
import { newOrEarlier } from "../../http/idempotent-id.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { existingPrompt, handleFor, OWN } from "../../prompts/access.ts";
import { commits } from "../../prompts/commit-routes.ts";
import { openAbout, Prompt, sealAbout, toWirePrompt } from "./row.ts";
import * as schema from "./schema.ts";
import {
  deletePrompt,
  findPromptById,
  insertPrompt,
  type LikedPrompt,
  likePrompt,
  listPrompts,
  MOST_PROMPTS,
  PAGE_BYTES,
  updatePrompt,
} from "./store.ts";
import { tags } from "../../prompts/tag-routes.ts";

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
      about: sealAbout(await loadRing(c.env, workspaceId), id, about),
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
    if (!made) throw new Problem(409, `A workspace has at most ${MOST_PROMPTS} prompts. Delete one first.`);
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
          const held = isSame ? undefined : openAbout(ring, row);
          const about = held && { description: description ?? held.description, readme: readme ?? held.readme };
          return {
            ...(about && { about: sealAbout(ring, row.id, about) }),
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
    doc("Delete a prompt with its commits", Message),
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

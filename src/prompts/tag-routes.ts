/** Tags of prompts: names that move from one commit to another, such as `prod`. */
import { Hono } from "hono";
import * as v from "valibot";
import type { Context } from "hono";
import { audit } from "../access/audit/record.ts";
import { database } from "../db/client.ts";
import { createDoc, NOTHING } from "../http/route.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { body, param } from "../http/validate.ts";
import { uuidv7 } from "../lib/uuid.ts";
import { existingCommit, existingPrompt } from "./access.ts";
import { deleteTag, listTags, MOST_TAGS, type TagRow, writeTag } from "./commit-store.ts";
import { Tag, toWireTag } from "../agents/prompts/row.ts";
import * as schema from "../agents/prompts/schema.ts";
import type { LikedPrompt } from "../agents/prompts/store.ts";

const doc = createDoc("Prompts");

export const tags = new Hono<App>()
  .post(
    "/repos/:owner/:repo/tags",
    doc("Tag a commit, or move the tag to it", Tag),
    param(schema.PromptPath),
    body(schema.CreateTag),
    async (c) => {
      const prompt = await existingPrompt(c, c.req.valid("param"));
      const { tag_name, commit_id } = c.req.valid("json");
      return c.json(toWireTag(await moveTag(c, prompt, tag_name, commit_id)));
    },
  )
  .get("/repos/:owner/:repo/tags", doc("List a prompt's tags", v.array(Tag)), param(schema.PromptPath), async (c) => {
    const prompt = await existingPrompt(c, c.req.valid("param"));
    return c.json((await listTags(database(c.env.DB), prompt.id)).map(toWireTag));
  })
  .get("/repos/:owner/:repo/tags/:tag_name", doc("Read a tag", Tag), param(schema.TagPath), async (c) => {
    const { tag_name, ...path } = c.req.valid("param");
    return c.json(toWireTag(await existingTag(c, await existingPrompt(c, path), tag_name)));
  })
  .patch(
    "/repos/:owner/:repo/tags/:tag_name",
    doc("Move a tag to another commit", Tag),
    param(schema.TagPath),
    body(schema.MoveTag),
    async (c) => {
      const { tag_name, ...path } = c.req.valid("param");
      const prompt = await existingPrompt(c, path);
      await existingTag(c, prompt, tag_name);
      return c.json(toWireTag(await moveTag(c, prompt, tag_name, c.req.valid("json").commit_id)));
    },
  )
  .delete("/repos/:owner/:repo/tags/:tag_name", doc("Delete a tag", NOTHING), param(schema.TagPath), async (c) => {
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
  if (!(await writeTag(db, row))) throw new Problem(409, `A prompt has at most ${MOST_TAGS} tags. Delete one first.`);
  const detail = { name: prompt.name, tag: name, hash: commit.hash };
  await audit(c, { action: "prompt.tagged", targetId: prompt.id, detail });
  return existingTag(c, prompt, name);
}

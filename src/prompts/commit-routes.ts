/** Commits of prompts: add, list, pull. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../access/audit/record.ts";
import { nameCaller } from "../http/context.ts";
import { database } from "../db/client.ts";
import { withRing } from "../access/encryption/keys.ts";
import { AnyObject, Count } from "../http/shapes.ts";
import { createDoc } from "../http/route.ts";
import { newOrEarlier } from "../http/idempotent-id.ts";
import type { App } from "../http/context.ts";
import { body, param, query } from "../http/validate.ts";
import { existingCommit, existingPrompt, OWN } from "./access.ts";
import { findCommitById, listCommits } from "./commit-store.ts";
import { commitPrompt } from "../agents/prompts/commit.ts";
import { pullManifest } from "./manifest.ts";
import { Commit, openDescription, openManifest, toWireCommit } from "../agents/prompts/row.ts";
import * as schema from "../agents/prompts/schema.ts";

const doc = createDoc("Prompts");

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
    doc("Commit a prompt", v.object({ commit: Commit })),
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
    doc("List a prompt's commits, newest first", v.object({ commits: v.array(Commit), total: Count })),
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
    doc("Pull a prompt: a commit by its tag or hash, or the latest", Pulled),
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

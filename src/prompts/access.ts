/** What the routes of prompts have in common: whose prompts they are, and what a path names. */
import type { Context } from "hono";
import { nameCaller } from "../http/context.ts";
import { findWorkspace } from "../access/auth/store.ts";
import { database } from "../db/client.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { type CommitRow, findCommits } from "./commit-store.ts";
import { findPrompt, type LikedPrompt } from "../agents/prompts/store.ts";

/** The workspace of the caller, in the SDKs' own word for it. */
export const OWN = "-";

/** A workspace's name as a part of an address. */
export function handleFor(name: string): string {
  return (
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .replaceAll(/^-|-$/g, "")
      .slice(0, 60) || "workspace"
  );
}

interface PromptPath {
  owner: string;
  repo: string;
}

/** A prompt of the caller's workspace, whose owner is `-` or the workspace's handle. @throws Problem 404 */
export async function existingPrompt(c: Context<App>, { owner, repo }: PromptPath): Promise<LikedPrompt> {
  const db = database(c.env.DB);
  const { workspaceId } = c.get("principal");
  const isOwn = owner === OWN || handleFor((await findWorkspace(db, workspaceId))?.name ?? "") === owner;
  const row = isOwn ? await findPrompt(db, workspaceId, repo, nameCaller(c)) : undefined;
  if (!row) throw new Problem(404, "Prompt not found.");
  return row;
}

/** The commit that a word names: `latest`, a tag, an id, or a hash of which eight digits are enough. @throws Problem 404, 409 */
export async function existingCommit(c: Context<App>, prompt: LikedPrompt, word: string): Promise<CommitRow> {
  const [found, second] = await findCommits(database(c.env.DB), prompt.id, word);
  if (second) throw new Problem(409, `Several commits of ${prompt.name} begin with ${word}. Give more of the hash.`);
  if (!found) throw new Problem(404, `Prompt ${prompt.name} has no commit or tag ${word}.`);
  return found;
}

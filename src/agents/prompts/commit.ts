/** A commit: the next state of a prompt, made from the one that its author has read. */
import { withRing } from "../../access/encryption/keys.ts";
import { openOr, type Ring } from "../../access/encryption/ring.ts";
import { database } from "../../db/client.ts";
import { canonicalJson, type Json, isObject } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { type CommitRow, findCommits, insertCommit, MAX_COMMITS, type LikedPrompt, findPrompt } from "./store.ts";
import { openManifest, sealDescription, sealManifest } from "./row.ts";
import { HASH_START, LATEST } from "./schema.ts";
import type { Context } from "hono";
import { nameCaller, type App } from "../../http/context.ts";
import { findWorkspace } from "../../access/auth/store.ts";

interface CommitInput {
  id: string;
  author: string;
  manifest: Json;
  parent_commit?: string | undefined;
  description?: string | undefined;
}

/**
 * Adds a commit after the latest one. Its hash covers its content and the hash of its parent.
 * @throws Problem 409 when the parent is not the latest commit, or when its content is that of the latest commit
 */
export async function commitPrompt(
  env: Env,
  prompt: LikedPrompt,
  { id, author, manifest, parent_commit, description }: CommitInput,
): Promise<CommitRow> {
  const db = database(env.DB);
  requireLatest(prompt, parent_commit);
  if (prompt.commits >= MAX_COMMITS) throw new Problem(409, `A prompt has at most ${MAX_COMMITS} commits.`);
  const [parent] = prompt.commits === 0 ? [] : await findCommits(db, prompt.id, LATEST);
  return withRing(env, prompt.workspaceId, async (ring) => {
    const content = canonicalJson(manifest);
    if (parent && openContent(ring, parent) === content)
      throw new Problem(409, "Nothing to commit: the prompt has not changed since its latest commit.");
    const row: CommitRow = {
      id,
      promptId: prompt.id,
      number: prompt.commits + 1,
      hash: ring.hash(`${parent?.hash ?? ""}\n${content}`, "hex"),
      parentId: parent?.id ?? null,
      parentHash: parent?.hash ?? null,
      manifest: sealManifest(ring, id, manifest),
      description: sealDescription(ring, id, description),
      author,
      createdAt: Date.now(),
    };
    if (await insertCommit(db, prompt, row)) return row;
    throw new Problem(409, "Another commit was added at the same time. Pull the prompt, and commit again.");
  });
}

function requireLatest({ name, lastHash }: LikedPrompt, parent: string | undefined): void {
  if (lastHash === null) {
    if (parent === undefined || parent === LATEST) return;
    throw new Problem(409, `Prompt ${name} has no commit yet, so no commit has the parent ${parent}.`);
  }
  const isLatest =
    parent === LATEST || (parent !== undefined && HASH_START.test(parent) && lastHash.startsWith(parent));
  if (!isLatest)
    throw new Problem(
      409,
      `The latest commit of ${name} is ${lastHash}. The parent is ${parent ?? "left out"}. Pull the prompt, and commit again.`,
    );
}

/** Undefined when the key is destroyed. */
const openContent = (ring: Ring, row: CommitRow): string | undefined =>
  openOr(() => canonicalJson(openManifest(ring, row)), undefined);

// What the routes of prompts have in common: whose prompts they are, and what a path names.

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

// What is committed: the constructor of LangChain that the SDKs serialize.

export interface PulledManifest {
  manifest: Json;
  model_provider: string | null;
  model_config: Json | null;
}

const className = (value: Json): unknown => (Array.isArray(value.id) ? value.id.at(-1) : undefined);

/**
 * A commit as it is pulled. A prompt that was pushed with its model is a sequence of both, and the model is left out unless
 * `include_model` requests it (`include_model` of the SDKs' `pullPrompt`).
 */
export function pullManifest(manifest: Json, includeModel: boolean): PulledManifest {
  const without = { model_provider: null, model_config: null };
  const { first, last } = isObject(manifest.kwargs) ? manifest.kwargs : {};
  if (className(manifest) !== "RunnableSequence" || !isObject(first)) return { manifest, ...without };
  if (!includeModel) return { manifest: first, ...without };
  const kwargs = isObject(last) && isObject(last.kwargs) ? last.kwargs : {};
  // Tools and settings are bound around the model.
  const model = isObject(kwargs.bound) ? kwargs.bound : isObject(last) ? last : {};
  const name = className(model);
  return {
    manifest,
    model_provider: typeof name === "string" ? name : null,
    model_config: isObject(model.kwargs) ? model.kwargs : null,
  };
}

/** A commit: the next state of a prompt, made from the one that its author has read. */
import { withRing } from "../../access/encryption/keys.ts";
import { openOr, type Ring } from "../../access/encryption/ring.ts";
import { database } from "../../db/client.ts";
import { canonicalJson } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import type { Json } from "../../lib/json.ts";
import { type CommitRow, findCommits, insertCommit, MOST_COMMITS } from "../../prompts/commit-store.ts";
import { openManifest, sealDescription, sealManifest } from "./row.ts";
import { HASH_START, LATEST } from "./schema.ts";
import type { LikedPrompt } from "./store.ts";

interface GivenCommit {
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
  { id, author, manifest, parent_commit, description }: GivenCommit,
): Promise<CommitRow> {
  const db = database(env.DB);
  requireLatest(prompt, parent_commit);
  if (prompt.commits >= MOST_COMMITS) throw new Problem(409, `A prompt has at most ${MOST_COMMITS} commits.`);
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

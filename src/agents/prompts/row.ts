/** Prompts, commits and tags on the wire, with the members that LangSmith's SDKs read. */
import { openListed, sealJson, openOr, type Ring } from "../../access/encryption/ring.ts";
import type { Json } from "../../lib/json.ts";
import type { CommitRow, TagRow, LikedPrompt } from "./store.ts";
import type { Commit, Prompt, Tag } from "./wire.ts";

export { Prompt, Commit, Tag } from "./wire.ts";

export interface PromptTexts {
  description: string | null;
  readme: string | null;
}

const textsContext = (id: string) => ["prompt", id];
const manifestContext = (id: string) => ["prompt commit", id];
const descriptionContext = (id: string) => ["prompt commit description", id];

export const sealPromptTexts = (ring: Ring, id: string, about: PromptTexts): Json =>
  sealJson<Json>(ring, { ...about }, textsContext(id));
/** Both are null when their key is destroyed. */
export const openPromptTexts = (ring: Ring, { id, about }: LikedPrompt): PromptTexts =>
  (openListed(ring, about, textsContext(id)) as unknown as PromptTexts | undefined) ?? {
    description: null,
    readme: null,
  };
export const sealManifest = (ring: Ring, id: string, manifest: Json): string =>
  ring.seal(JSON.stringify(manifest), manifestContext(id));
export const openManifest = (ring: Ring, { id, manifest }: CommitRow): Json =>
  JSON.parse(ring.open(manifest, manifestContext(id))) as Json;
export const sealDescription = (ring: Ring, id: string, text: string | undefined): string | null =>
  text === undefined ? null : ring.seal(text, descriptionContext(id));
/** Null when there is none, or when its key is destroyed. */
export const openDescription = (ring: Ring, { id, description }: Pick<CommitRow, "id" | "description">) =>
  description === null ? null : openOr(() => ring.open(description, descriptionContext(id)), null);

/** Prompts are not counted when they are read, are not public, and are not forked from others. */
const uncounted = { num_downloads: 0, num_views: 0 };

export function toWirePrompt(ring: Ring, owner: string, row: LikedPrompt): Prompt {
  const { description, readme } = openPromptTexts(ring, row);
  return {
    id: row.id,
    repo_handle: row.name,
    full_name: `${owner}/${row.name}`,
    owner,
    tenant_id: row.workspaceId,
    description,
    readme,
    tags: row.labels,
    is_public: false,
    is_archived: row.isArchived,
    created_at: new Date(row.createdAt).toISOString(),
    updated_at: new Date(row.updatedAt).toISOString(),
    num_likes: row.likes,
    liked_by_auth_user: row.isLiked,
    ...uncounted,
    num_commits: row.commits,
    last_commit_hash: row.lastHash,
    original_repo_id: null,
    upstream_repo_id: null,
    original_repo_full_name: null,
    upstream_repo_full_name: null,
  };
}

/** A commit in a list: without its manifest when that is large, or its key destroyed. */
export function toWireCommit(
  ring: Ring,
  place: { owner: string; repo: string },
  row: Omit<CommitRow, "manifest"> & { manifest: string | null },
): Commit {
  const { id, manifest } = row;
  const at = new Date(row.createdAt).toISOString();
  return {
    id,
    repo_id: row.promptId,
    ...place,
    commit_hash: row.hash,
    parent_id: row.parentId,
    parent_commit_hash: row.parentHash,
    manifest_id: id,
    manifest: manifest === null ? null : openOr(() => openManifest(ring, { ...row, manifest }), null),
    description: openDescription(ring, row),
    created_by: row.author,
    created_at: at,
    updated_at: at,
    example_run_ids: [],
    ...uncounted,
  };
}

export const toWireTag = (row: TagRow): Tag => ({
  id: row.id,
  repo_id: row.promptId,
  tag_name: row.name,
  commit_id: row.commitId,
  commit_hash: row.hash,
  created_at: new Date(row.createdAt).toISOString(),
  updated_at: new Date(row.updatedAt).toISOString(),
});

/** Prompts, commits and tags on the wire, with the members that LangSmith's SDKs read. */
import * as v from "valibot";
import { openListed, sealJson, openOr, type Ring } from "../../access/encryption/ring.ts";
import { AnyObject, Count, Id, Time } from "../../http/shapes.ts";
import type { Json } from "../../lib/json.ts";
import type { CommitRow, TagRow, LikedPrompt } from "./store.ts";

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

export const Prompt = v.pipe(
  v.object({
    id: Id,
    repo_handle: v.string(),
    full_name: v.string(),
    owner: v.nullable(v.string()),
    tenant_id: v.string(),
    description: v.nullable(v.string()),
    readme: v.nullable(v.string()),
    tags: v.array(v.string()),
    is_public: v.boolean(),
    is_archived: v.boolean(),
    created_at: Time,
    updated_at: Time,
    num_likes: Count,
    liked_by_auth_user: v.boolean(),
    num_downloads: Count,
    num_views: Count,
    num_commits: Count,
    last_commit_hash: v.nullable(v.string()),
    original_repo_id: v.null(),
    upstream_repo_id: v.null(),
    original_repo_full_name: v.null(),
    upstream_repo_full_name: v.null(),
  }),
  v.title("Prompt"),
);

export function toWirePrompt(ring: Ring, owner: string, row: LikedPrompt): v.InferOutput<typeof Prompt> {
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

export const Commit = v.pipe(
  v.object({
    id: Id,
    repo_id: Id,
    owner: v.string(),
    repo: v.string(),
    commit_hash: v.string(),
    parent_id: v.nullable(Id),
    parent_commit_hash: v.nullable(v.string()),
    manifest_id: Id,
    manifest: v.nullable(AnyObject),
    description: v.nullable(v.string()),
    created_by: v.string(),
    created_at: Time,
    updated_at: Time,
    example_run_ids: v.array(v.string()),
    num_downloads: Count,
    num_views: Count,
  }),
  v.title("PromptCommit"),
);

/** A commit in a list: without its manifest when that is large, or its key destroyed. */
export function toWireCommit(
  ring: Ring,
  place: { owner: string; repo: string },
  row: Omit<CommitRow, "manifest"> & { manifest: string | null },
): v.InferOutput<typeof Commit> {
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

export const Tag = v.pipe(
  v.object({
    id: Id,
    repo_id: Id,
    tag_name: v.string(),
    commit_id: Id,
    commit_hash: v.string(),
    created_at: Time,
    updated_at: Time,
  }),
  v.title("PromptTag"),
);

export const toWireTag = (row: TagRow): v.InferOutput<typeof Tag> => ({
  id: row.id,
  repo_id: row.promptId,
  tag_name: row.name,
  commit_id: row.commitId,
  commit_hash: row.hash,
  created_at: new Date(row.createdAt).toISOString(),
  updated_at: new Date(row.updatedAt).toISOString(),
});

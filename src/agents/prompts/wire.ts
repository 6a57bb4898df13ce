/** Prompts, commits and tags on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Count, Id, Time } from "../../http/shapes.ts";

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
export type Prompt = v.InferOutput<typeof Prompt>;

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
export type Commit = v.InferOutput<typeof Commit>;

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
export type Tag = v.InferOutput<typeof Tag>;

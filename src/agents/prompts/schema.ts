/** The shapes of prompts in requests, as LangSmith's SDKs send them. */
import * as v from "valibot";
import { maxBytes, PAYLOAD_BYTES } from "../../lib/bytes.ts";
import { choosing, Flag, many, optional, pagingQuery, unread, unserved } from "../../http/shapes.ts";
import { JsonObject, NESTING, nestsDeeper } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";

const NAME_MEANS = "must have letters, digits, . _ and - only, at most 200, and begin with a letter or digit";
const Name = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][\w.-]{0,199}$/, NAME_MEANS));

/** Begins the hash of a commit: from eight digits on, a text of hexadecimal digits is one. */
export const HASH_START = /^[0-9a-f]{8,64}$/;
export const LATEST = "latest";

const TagName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][\w.-]{0,99}$/, NAME_MEANS.replace("200", "100")),
  v.check((name) => name !== LATEST && !HASH_START.test(name), "is the name of a commit: latest, or a hash"),
);

const Public = optional(
  v.pipe(
    v.boolean(),
    v.check((isPublic) => {
      if (isPublic)
        throw new Problem(501, "Weir does not serve public prompts. All keys of the workspace can pull it.");
      return true;
    }),
  ),
);
const labels = optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(100))), v.maxLength(100)));
const settings = {
  description: optional(v.pipe(v.string(), v.maxLength(10_000, "must be at most 10000 characters"))),
  readme: optional(v.pipe(v.string(), v.maxLength(100_000, "must be at most 100000 characters"))),
  tags: labels,
  is_public: Public,
};
/** Agents and skills are other kinds of repositories in the same calls. */
const Kind = v.optional(
  v.union([v.literal("prompt"), unserved("agents and skills. docs/experiments.md lists the calls that it serves")]),
);

export const CreatePrompt = v.looseObject({ repo_handle: Name, repo_type: Kind, ...settings });
export const UpdatePrompt = v.looseObject({ is_archived: optional(v.boolean()), ...settings });

export const ListPrompts = choosing({
  is_public: v.optional(Flag),
  is_archived: v.optional(Flag),
  sort_field: v.optional(v.picklist(["updated_at", "num_likes", "num_downloads", "num_views"]), "updated_at"),
  sort_direction: v.optional(v.picklist(["asc", "desc"]), "desc"),
  query: v.optional(v.pipe(v.string(), v.maxLength(500))),
  match_prefix: unread,
  tags: many(v.string()),
  has_commits: v.optional(Flag),
  repo_type: Kind,
  ...pagingQuery(100),
});

const Manifest = v.pipe(
  JsonObject,
  v.check((given) => !nestsDeeper(given), `nests deeper than ${NESTING} levels`),
  maxBytes(PAYLOAD_BYTES),
);
export const CreateCommit = v.looseObject({
  manifest: Manifest,
  parent_commit: optional(v.pipe(v.string(), v.maxLength(200))),
  description: optional(v.pipe(v.string(), v.maxLength(1_000, "must be at most 1000 characters"))),
});

export const ListCommits = choosing({ include_model: unread, include_stats: unread, ...pagingQuery(100) });
export const PullCommit = choosing({ include_model: v.optional(Flag), get_examples: unread, is_view: unread });

const CommitId = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
export const CreateTag = choosing({ tag_name: TagName, commit_id: CommitId, skip_webhooks: unread });
export const MoveTag = choosing({ commit_id: CommitId, skip_webhooks: unread });
export const Like = choosing({ like: v.boolean() });

export const PromptPath = v.object({ owner: v.string(), repo: v.string() });
export const CommitPath = v.object({ ...PromptPath.entries, commit: v.string() });
export const TagPath = v.object({ ...PromptPath.entries, tag_name: v.string() });

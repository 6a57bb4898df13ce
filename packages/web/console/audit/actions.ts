/** The actions of the audit log in words, in the groups of the filter. */

export const ACTIONS: { group: string; actions: [action: string, words: string][] }[] = [
  {
    group: "Keys",
    actions: [
      ["api_key.created", "Key created"],
      ["api_key.updated", "Key changed"],
      ["api_key.rolled", "Key replaced"],
      ["api_key.deleted", "Key revoked"],
      ["api_key.ended", "Key ended with its application"],
      ["role.updated", "Role changed"],
      ["role.deleted", "Role deleted"],
      ["webhook_secret.created", "Signing secret created"],
      ["webhook_secret.deleted", "Signing secret deleted"],
      ["encryption_key.created", "Encryption key made"],
      ["encryption_key.destroyed", "Encryption key destroyed"],
    ],
  },
  {
    group: "People",
    actions: [
      ["member.added", "Member added"],
      ["member.updated", "Member's role changed"],
      ["member.removed", "Member removed"],
      ["invitation.created", "Invitation created"],
      ["invitation.deleted", "Invitation taken back"],
      ["invitation.accepted", "Invitation accepted"],
    ],
  },
  {
    group: "Access",
    actions: [
      ["sign_in.succeeded", "Signed in"],
      ["sign_in.failed", "Sign-in failed"],
      ["session.ended", "Signed out"],
      ["credential.refused", "Credential refused"],
      ["admin_key.used", "Admin key used"],
    ],
  },
  {
    group: "OAuth",
    actions: [
      ["client.registered", "Application registered"],
      ["grant.created", "Access allowed"],
      ["grant.denied", "Access denied"],
      ["grant.refused", "Access refused"],
      ["grant.revoked", "Access taken back"],
      ["grant.reuse_detected", "Token used twice"],
    ],
  },
  {
    group: "Exports",
    actions: [
      ["destination.created", "Destination created"],
      ["destination.updated", "Destination changed"],
      ["destination.deleted", "Destination deleted"],
      ["destination.checked", "Destination checked"],
      ["export.created", "Export created"],
      ["export.cancelled", "Export cancelled"],
    ],
  },
  {
    group: "Links",
    actions: [
      ["trace.shared", "Trace shared by a link"],
      ["trace.unshared", "Link to a trace ended"],
      ["dataset.shared", "Dataset shared by a link"],
      ["dataset.unshared", "Link to a dataset ended"],
      ["feedback_link.created", "Links for feedback created"],
    ],
  },
  {
    group: "Agents",
    actions: [
      ["assistant.created", "Assistant created"],
      ["assistant.updated", "Assistant changed"],
      ["assistant.deleted", "Assistant deleted"],
      ["cron.created", "Cron created"],
      ["cron.updated", "Cron changed"],
      ["cron.deleted", "Cron deleted"],
      ["interrupt_link.created", "Link to answer made"],
      ["interrupt_link.revoked", "Link to answer revoked"],
      ["interrupt.answered", "Question answered"],
      ["thread.deleted", "Thread deleted"],
      ["thread.pruned", "Threads pruned"],
      ["run.deleted", "Run deleted"],
    ],
  },
  {
    group: "Traces",
    actions: [
      ["project.updated", "Project changed"],
      ["project.deleted", "Project deleted"],
      ["trace.deleted", "Traces deleted"],
      ["dataset.deleted", "Dataset deleted"],
      ["example.deleted", "Examples deleted"],
      ["comparison.deleted", "Comparison deleted"],
      ["feedback.deleted", "Feedback deleted"],
      ["feedback_config.deleted", "Config of feedback deleted"],
      ["annotation_queue.created", "Annotation queue created"],
      ["annotation_queue.updated", "Annotation queue changed"],
      ["annotation_queue.deleted", "Annotation queue deleted"],
      ["annotation_queue.filled", "Items added to an annotation queue"],
      ["annotation_queue.item_removed", "Items removed from an annotation queue"],
      ["prompt.created", "Prompt created"],
      ["prompt.updated", "Prompt changed"],
      ["prompt.deleted", "Prompt deleted"],
      ["prompt.committed", "Prompt committed"],
      ["prompt.tagged", "Tag of a prompt set"],
      ["prompt.untagged", "Tag of a prompt deleted"],
      ["playground.called", "Model called from the playground"],
      ["run_rule.created", "Rule on runs created"],
      ["run_rule.updated", "Rule on runs changed"],
      ["run_rule.deleted", "Rule on runs deleted"],
      ["run_rule.backfilled", "Rule applied to earlier runs"],
      ["alert.created", "Alert created"],
      ["alert.updated", "Alert changed"],
      ["alert.deleted", "Alert deleted"],
      ["alert.tested", "Alert tested"],
      ["alert.resent", "Alert told again"],
    ],
  },
  {
    group: "Workspace",
    actions: [
      ["workspace.emptied", "Workspace emptied"],
      ["masking.updated", "Masking rules changed"],
      ["flow_rule.updated", "Rule of flow control changed"],
      ["flow_rule.deleted", "Rule of flow control deleted"],
      ["budget.updated", "Budget changed"],
      ["budget.deleted", "Budget deleted"],
      ["budget.approved", "More of a budget approved"],
      ["budget.declined", "More of a budget declined"],
      ["prices.updated", "Prices of models changed"],
      ["workspace.created", "Workspace created"],
      ["audit_log.exported", "Audit log downloaded"],
    ],
  },
];

const WORDS = new Map(ACTIONS.flatMap(({ actions }) => actions));

/** An action in words; an unknown one as it is. */
export const actionText = (action: string): string => WORDS.get(action) ?? action;

/** Someone tried what they may not do. */
export const isRefusal = (action: string): boolean => /\.(failed|refused|denied|reuse_detected)$/.test(action);

const ACTORS: Record<string, string> = {
  key: "Key",
  admin: "Admin key",
  token: "Application",
  client: "Application",
  user: "User",
  open: "This machine",
  anonymous: "No sign-in",
  person: "Person",
  member: "Member",
  system: "Server",
  link: "Link",
  webhook: "Webhook",
};

/** Who did it: the name of a key where it is known, else what kind of caller, with its id. */
export function actorText({ kind, id }: { kind: string; id: string }, keys: Map<string, string>): string {
  const name = keys.get(id);
  if (name !== undefined) return name;
  const word = ACTORS[kind] ?? kind;
  return id === "" || id === kind ? word : `${word} ${id.slice(0, 8)}`;
}

/** An id without a meaning of its own: its beginning is enough in a list. */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** The target of an action: a name from the entry's detail, else the id. */
export function targetText(
  { target_id, detail }: { target_id: string; detail: Record<string, unknown> },
  keys: Map<string, string>,
): string {
  for (const member of ["name", "client_name", "bucket", "path"]) {
    const value = detail[member];
    if (typeof value === "string" && value !== "") return value;
  }
  return keys.get(target_id) ?? target_id;
}

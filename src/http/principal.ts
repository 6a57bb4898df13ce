/** Who is calling, and for which workspace. Passed down explicitly; never read from a global. */

/** Who the deployment's own `authenticate` says is calling. */
export interface AppUser {
  identity: string;
  permissions: string[];
  display_name: string;
  is_authenticated: boolean;
  [field: string]: unknown;
}

export const SCOPES = ["read", "write", "exports", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** What a credential may do, each by the scope that it belongs to: a scope is the set of its permissions. */
export const PERMISSIONS = {
  "workspace.read": "read",
  "usage.read": "read",
  "assistants.read": "read",
  "threads.read": "read",
  "crons.read": "read",
  "store.read": "read",
  "traces.read": "read",
  "datasets.read": "read",
  "flow.read": "read",
  "queues.read": "read",
  "prompts.read": "read",
  "assistants.write": "write",
  "threads.write": "write",
  "runs.create": "write",
  "crons.write": "write",
  "store.write": "write",
  "traces.write": "write",
  "traces.annotate": "write",
  "traces.share": "write",
  "traces.delete": "write",
  "datasets.write": "write",
  "queues.write": "write",
  "prompts.write": "write",
  "exports.manage": "exports",
  "keys.manage": "admin",
  "roles.manage": "admin",
  "members.manage": "admin",
  "audit.read": "admin",
  "webhooks.manage": "admin",
  "masking.manage": "admin",
  "flow.manage": "admin",
  "encryption.manage": "admin",
  "workspace.empty": "admin",
} as const satisfies Record<string, Scope>;
export type Permission = keyof typeof PERMISSIONS;
export const ALL_PERMISSIONS = Object.keys(PERMISSIONS) as Permission[];

/** Whether the credential has the permission: its scopes do, and its role, if it has one. */
export function may(
  { scopes, permissions }: Pick<Principal, "scopes" | "permissions">,
  permission: Permission,
): boolean {
  return scopes.includes(PERMISSIONS[permission]) && (permissions?.includes(permission) ?? true);
}

export interface Principal {
  workspaceId: string;
  scopes: readonly Scope[];
  /** The role of the member or API key, or of that with which a person allowed the token. Undefined: no role, but the scopes alone. */
  role?: string;
  /** The permissions of the role, as far as the scopes have them. Undefined: all of the scopes. */
  permissions?: readonly Permission[];
  /**
   * What proved the caller's identity: an API key, the deployment's admin key, an OAuth token, the session of a member's browser,
   * the deployment's own `Auth`, nothing (open mode), a cron of the workspace, or a run that calls its own server.
   */
  kind: "key" | "admin" | "token" | "member" | "user" | "open" | "cron" | "run";
  /** The key's, grant's, member's, cron's or run's id, for logs and the audit trail; never the secret. */
  credentialId: string;
  /** The OAuth grant that it came from: of a token, and of a key that a token made. */
  grantId?: string;
  /** SHA-256 of the key, token or session secret that was sent. */
  hash?: string;
  /** When the API key stops working, milliseconds since 1970. */
  expiresAt?: number;
  /** The networks (CIDR) from which the API key works. */
  allowedIps?: string[];
  /** Of a call that the project's code makes of its own server: how many such calls it is nested in, itself counted. */
  depth?: number;
  /** The user from the deployment's own `Auth`; its handlers decide what this principal may do. */
  user?: AppUser;
}

/** The organization that all workspaces of a deployment belong to. `X-Organization-Id` on the wire. */
export const ORGANIZATION_ID = "00000000-0000-4000-8000-000000000000";

/** The workspace that `npm start` makes, and that requests without a key act as when `AUTH=open` locally. */
export const LOCAL_WORKSPACE_ID = "00000000-0000-4000-8000-000000000001";

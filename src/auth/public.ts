/** The routes that need no Principal. Everything else does, also routes that do not exist yet. */

const PUBLIC: RegExp[] = [
  /^\/(ok|info|api\/v1\/info|openapi\.json)$/,
  // The link itself is the credential: sealed, and valid for a while.
  /^\/api\/v1\/trace-attachments\/[^/]+$/,
  // So is this one; it lets its holder give feedback on one run.
  /^(\/api\/v1)?\/feedback\/tokens\/[^/]+$/,
  // And this one; it lets its holder read a shared trace or dataset.
  /^(\/api\/v[12])?\/public\/[^/]+\/(r|d|run|run\/[^/]+|runs|runs\/query|datasets|examples)$/,
  // Clients read and call these before they have a credential.
  /^\/\.well-known\/oauth-(authorization-server|protected-resource)(\/|$)/,
  /^\/oauth\/(register|authorize|token|revoke|openid\/start|openid\/callback)$/,
  /^(\/a2a\/[^/]+)?\/\.well-known\/agent(-card)?\.json$/,
  /^\/\.well-known\/jwks\.json$/,
  // A browser loads scripts and style sheets without a credential.
  /^\/ui\/[^/]+\/[^/]+$/,
];

/** Whether a path needs no Principal. */
export function isPublic(path: string): boolean {
  return PUBLIC.some((pattern) => pattern.test(path));
}

/** The routes that need no Principal. Everything else does, also routes that do not exist yet. */

const PUBLIC: RegExp[] = [
  /^\/(ok|info|api\/v1\/info|openapi\.json)$/,
  // The link itself is the credential: sealed, and valid for a while.
  /^\/api\/v1\/trace-attachments\/[^/]+$/,
  // So is this one; it lets its holder give feedback on one run.
  /^(\/api\/v1)?\/feedback\/tokens\/[^/]+$/,
  // And this one; it lets its holder read a shared trace or dataset.
  /^(\/api\/v[12])?\/public\/[^/]+\/(r|d|run|run\/[^/]+|runs|runs\/query|datasets|datasets\/.+|examples)$/,
  // Clients read and call these before they have a credential.
  /^\/\.well-known\/oauth-(authorization-server|protected-resource)(\/|$)/,
  /^\/oauth\/(register|authorize|token|revoke|openid\/start|openid\/callback)$/,
  /^(\/a2a\/[^/]+)?\/\.well-known\/agent(-card)?\.json$/,
  /^\/\.well-known\/jwks\.json$/,
];

/** A browser loads these scripts and style sheets without a credential. Other routes below `/ui` may be the application's own. */
const UI_FILES = /^\/ui\/[^/]+\/(entrypoint\.(js|css)|\{file\})$/;

/** Whether a request needs no Principal. `path` may be a template of `/openapi.json`. */
export function isPublic(path: string, method = "GET"): boolean {
  if (UI_FILES.test(path)) return method === "GET" || method === "HEAD";
  return PUBLIC.some((pattern) => pattern.test(path));
}

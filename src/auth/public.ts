/** The routes that need no Principal. All other routes need one, including new routes. */

const PUBLIC: RegExp[] = [
  /^\/(ok|info|api\/v1\/info|openapi\.json)$/,
  // The link itself is the credential: encrypted, and valid for a limited time.
  /^\/api\/v1\/trace-attachments\/[^/]+$/,
  // This link is also a credential. Its holder can give feedback on one run.
  /^(\/api\/v1)?\/feedback\/tokens\/[^/]+$/,
  // This link is also a credential. Its holder can answer one question of a thread.
  /^\/api\/v1\/answers\/[^/]+$/,
  // This link is also a credential. Its holder can read a shared trace or dataset.
  /^(\/api\/v[12])?\/public\/[^/]+\/(r|d|run|run\/[^/]+|runs|runs\/query|datasets|datasets\/.+|examples)$/,
  // Clients read and call these before they have a credential.
  /^\/\.well-known\/(oauth-authorization-server|oauth-protected-resource|openid-configuration)(\/|$)/,
  // Below a resource, clients of OpenID Connect look for what is only at the root: they read a 404, and no 401, as an answer.
  /^\/(mcp(\/traces)?|(a2a|agui)\/[^/]+)\/\.well-known\/openid-configuration\/?$/,
  /^\/oauth\/(register|authorize|token|revoke|openid\/(start|callback|sign-in|sign-out|invitation))$/,
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

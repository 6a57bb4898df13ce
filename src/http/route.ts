/** The facts of a route: its description for /openapi.json, the permission that it needs, and which routes are public. */
import { describeRoute, resolver } from "hono-openapi";
import * as v from "valibot";
import { ALL_PERMISSIONS, may, type Permission, PERMISSIONS, type Principal, type Scope } from "./principal.ts";

type Responses = NonNullable<Parameters<typeof describeRoute>[0]["responses"]>;
type Schema = v.GenericSchema<unknown, unknown>;
interface Body {
  content?: Record<string, { schema: object }>;
}
/** The bodies of a route's answers, by status; `default` is that of its errors where they are no problems. */
type RouteResponses = Partial<Record<number | "default", Schema | Body>>;

/** A body of this media type that is not JSON. */
export const media = (type: string) => ({ content: { [type]: { schema: { type: "string" } } } });

export const json = (schema: Schema) => ({ content: { "application/json": { schema: resolver(schema) } } });

export const eitherBody = (...bodies: Body[]): Body => ({
  content: Object.assign({}, ...bodies.map(({ content }) => content)) as NonNullable<Body["content"]>,
});

/** No body. */
export const NOTHING = { 204: {} };

/** A stream of server-sent events. */
export const EVENTS = { 200: media("text/event-stream") };

/** A protocol on JSON-RPC 2.0: an answer, or a stream of them. Before the protocol is reached, errors are problems. */
const RpcResponse = v.object({
  jsonrpc: v.literal("2.0"),
  id: v.nullish(v.union([v.string(), v.number()])),
  result: v.optional(v.unknown()),
  error: v.optional(v.object({ code: v.number(), message: v.string(), data: v.optional(v.unknown()) })),
});
export const PROBLEM = {
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
};
export const RPC: RouteResponses = {
  200: eitherBody(json(v.union([RpcResponse, v.array(RpcResponse)])), EVENTS[200]),
  default: eitherBody(json(RpcResponse), PROBLEM),
};

const DESCRIPTIONS: Record<string, string> = {
  101: "Switching protocols",
  202: "Accepted",
  204: "Done",
  302: "A redirect",
  303: "A redirect",
  304: "Not modified",
  default: "The request failed.",
};

/**
 * The description of a route in /openapi.json: its group, what it does, and its answers, which are those with status 200 where one
 * shape is given. The rest comes from its schemas.
 */
export const createDoc = (group: string) => (summary: string, answers?: Schema | RouteResponses) =>
  describeRoute({ tags: [group], summary, ...(answers && { responses: toResponses(answers) }) });

function toResponses(answers: Schema | RouteResponses): Responses {
  const byStatus: RouteResponses = isSchema(answers) ? { 200: answers } : answers;
  const described = Object.entries(byStatus).map(([status, body]) => {
    const { content } = isSchema(body) ? json(body) : (body as Body);
    return [status, { description: DESCRIPTIONS[status] ?? "Success", ...(content && { content }) }] as const;
  });
  return Object.fromEntries(described) as Responses;
}

const isSchema = (given: Schema | object | undefined): given is Schema => given !== undefined && "kind" in given;

// Which permission a call needs: ONE table, for both API keys and tokens. The scope is that of the permission. The first row
// that fits decides; a route that no row fits is refused (see `authenticate`), so a new noun adds its row here.

/**
 * `deployment`: only the deployment's admin key. `any`: every key, token and session, also without a permission (users of an own `Auth`: access/users/app.ts). Of several permissions one is
 * enough: the handler decides by the body.
 */
export type RequiredAccess = Permission | "deployment" | "any" | readonly Permission[];

export interface RouteAccess {
  access: RequiredAccess;
  /** A call about the organization and no single workspace: X-Organization-Id may replace X-Tenant-Id. */
  organization: boolean;
}

type Methods = "GET" | "POST" | "DELETE" | "ACT" | "*";
type AccessRow = [methods: Methods, path: RegExp, access: RequiredAccess, organization?: true];

/** The platform API answers under `/api/v1` (and `/api/v2`), and its tracing part also under `/`. */
const PLATFORM = "(?:/api/v[12])?";
const platform = (rest: string) => new RegExp(`^${PLATFORM}/${rest}`);

const TABLE: AccessRow[] = [
  ["GET", /^\/api\/v1\/workspaces$/, "workspace.read", true],
  ["POST", /^\/api\/v1\/workspaces$/, "deployment"],
  ["*", /^\/api\/v1\/(?:api-keys|grants|oauth-clients)(?:\/|$)/, "keys.manage"],
  // Who gives roles chooses from them.
  ["GET", /^\/api\/v1\/roles$/, ["roles.manage", "keys.manage", "members.manage"]],
  ["*", /^\/api\/v1\/roles(?:\/|$)/, "roles.manage"],
  ["*", /^\/api\/v1\/(?:members|invitations)(?:\/|$)/, "members.manage"],
  // About the caller itself. No other path: a route of the project's application may be below this one.
  ["*", /^\/api\/v1\/me(?:\/sessions(?:\/[^/]+)?)?$/, "any"],
  ["*", /^\/api\/v1\/audit-log(?:\/|$)/, "audit.read"],
  ["*", /^\/api\/v1\/webhook-secrets(?:\/|$)/, "webhooks.manage"],
  ["*", /^\/api\/v1\/masking-rules(?:\/|$)/, "masking.manage"],
  ...readAndWrite(/^\/api\/v1\/(?:flow\/|budgets(?:\/|$)|prices$)/, "flow.read", "flow.manage"),
  ...readAndWrite(/^\/api\/v1\/alerts(?:\/|$)/, "traces.read", "traces.write"),
  // A call of a model is paid for, as a run is.
  ...readAndWrite(/^\/api\/v1\/playground(?:\/|$)/, "prompts.read", "runs.create"),
  ["*", /^\/api\/v1\/encryption-keys(?:\/|$)/, "encryption.manage"],
  ["*", /^\/api\/v1\/bulk-exports(?:\/|$)/, "exports.manage"],
  ["*", /^\/internal\//, "workspace.empty"],
  ["POST", /^\/oauth\/introspect$/, "workspace.read"],

  ["ACT", /^\/(?:(?:api\/)?threads|runs)\//, "runs.create"],

  // Reading that needs a body.
  ["POST", /^\/runs\/crons\/(?:search|count|firings)$/, "crons.read"],
  ["POST", /^\/assistants\/(?:search|count)$/, "assistants.read"],
  ["POST", /^\/graphs\/check$/, "threads.read"],
  ["GET", /^\/graphs$/, "deployment"],
  ["POST", /^\/threads\/(?:search|count)$/, "threads.read"],
  ["POST", /^\/assistants\/[^/]+\/versions$/, "assistants.read"],
  ["POST", /^\/threads\/[^/]+\/(?:history|state\/checkpoint|stream|stream\/events)$/, "threads.read"],
  ["POST", /^\/api\/threads\/[^/]+\/(?:history|stream|stream\/events)$/, "threads.read"],
  ["POST", /^\/ui\/[^/]+$/, "assistants.read"],
  ["POST", /^\/store\/(?:items\/search|namespaces)$/, "store.read"],
  ["POST", platform("(?:runs|traces|threads)/(?:query|stats|group)(?:/validate|/series)?$"), "traces.read"],

  ["POST", platform("datasets/[^/]+/(?:runs|experiment-runs|search|index(?:/sync)?)$"), "datasets.read"],

  // Links for feedback: the holder of a link may write with it.
  ["*", platform("feedback/tokens$"), "traces.annotate"],

  ["POST", /^\/agui\/[^/]+\/connect$/, "threads.read"],
  // Each tool calls a route, which has a row of its own.
  ["*", /^\/mcp\/traces(?:\/|$)/, "traces.read"],
  // An agent's work, even where the method's name says "get": one address for all of its protocol.
  ["*", /^\/(?:a2a|agui|mcp)(?:\/|$)/, "runs.create"],

  ...readAndWrite(/^\/assistants(?:\/|$)/, "assistants.read", "assistants.write"),
  ...readAndWrite(/^\/(?:runs\/)?crons(?:\/|$)/, "crons.read", "crons.write"),
  ...readAndWrite(/^\/store(?:\/|$)/, "store.read", "store.write"),
  ["*", /^\/threads\/[^/]+\/runs\/crons$/, "crons.write"],
  // The holder of a link may answer: who makes it must be able to do so.
  ...readAndWrite(/^\/threads\/[^/]+\/interrupts\/[^/]+\/links(?:\/|$)/, "threads.read", "runs.create"),
  ...readAndWrite(/^\/(?:api\/)?threads\/[^/]+\/(?:runs|commands)(?:\/|$)/, "threads.read", "runs.create"),
  ...readAndWrite(/^\/(?:api\/)?threads(?:\/|$)/, "threads.read", "threads.write"),
  ["GET", /^\/runs\/[^/]+\/(?:join|stream)$/, "threads.read"],
  ["POST", /^\/runs\/(?:stream|wait|cancel)$/, "runs.create"],
  // The body decides whether it is a trace or a run to start (traces/ingest/routes.ts).
  ["POST", /^\/runs(?:\/batch)?$/, ["traces.write", "runs.create"]],

  ["GET", platform("(?:runs|datasets)/[^/]+/share$"), "traces.read"],
  ["*", platform("(?:runs|datasets)/[^/]+/share$"), "traces.share"],
  ["POST", platform("runs/delete$"), "traces.delete"],
  ...readAndWrite(platform("(?:feedback|feedback-configs)(?:/|$)"), "traces.read", "traces.annotate"),
  ...readAndWrite(platform("(?:datasets|examples)(?:/|$)"), "datasets.read", "datasets.write"),
  ...readAndWrite(/^\/(?:api\/)?v1\/platform\/datasets\//, "datasets.read", "datasets.write"),
  [
    "POST",
    /^(?:\/api\/v1|(?:\/api)?\/v1\/platform)?\/annotation-queues\/(?:status\/[^/]+|items\/[^/]+\/status)$/,
    "traces.annotate",
  ],
  ...readAndWrite(/^(?:\/api\/v1|(?:\/api)?\/v1\/platform)?\/annotation-queues(?:\/|$)/, "queues.read", "queues.write"),
  ...readAndWrite(platform("(?:repos|commits|likes)(?:/|$)"), "prompts.read", "prompts.write"),
  ["GET", platform("settings$"), "workspace.read"],
  ["DELETE", platform("(?:sessions|traces|threads)(?:/|$)"), "traces.delete"],
  ...readAndWrite(platform("(?:runs|sessions|traces|threads)(?:/|$)"), "traces.read", "traces.write"),
  ...readAndWrite(platform("otel/"), "traces.read", "traces.write"),
  ["GET", /^\/(?:metrics|api\/v1\/usage)(?:\/|$)/, "usage.read"],
  ["GET", /^\/api\/v1\/activity\/(?:runs|stream)(?:\/|$)/, "threads.read"],
  ["GET", /^\/docs(?:\/|$)/, "workspace.read"],
];

function readAndWrite(path: RegExp, reading: Permission, writing: Permission): AccessRow[] {
  return [
    ["GET", path, reading],
    ["*", path, writing],
  ];
}

/**
 * A GET that does something: a WebSocket carries commands, and a reader may request that its disconnect cancels the
 * run.
 */
export function changesState(request: Request): boolean {
  if (request.headers.has("upgrade")) return true;
  const asked = new URL(request.url).searchParams.getAll("cancel_on_disconnect");
  return asked.some((value) => !/^(?:0|false)?$/i.test(value));
}

/** The rule for a call; undefined when no row fits. HEAD counts as GET. `acting`: see `acts`. */
export function accessOf(method: string, path: string, acting = false): RouteAccess | undefined {
  const verb = method === "HEAD" ? "GET" : method;
  const fits = (methods: Methods) => methods === "*" || methods === verb || (methods === "ACT" && acting);
  const row = TABLE.find(([methods, pattern]) => fits(methods) && pattern.test(path));
  return row && { access: row[2], organization: row[3] === true };
}

/** The permissions of which a call needs one. */
export function permissionsOfAccess(access: Exclude<RequiredAccess, "deployment">): readonly Permission[] {
  if (access === "any") return ALL_PERMISSIONS;
  return typeof access === "string" ? [access] : access;
}

export function scopeOfAccess(access: RequiredAccess): Scope | "deployment" | "any" {
  if (access === "deployment" || access === "any") return access;
  const [permission] = permissionsOfAccess(access);
  return permission ? PERMISSIONS[permission] : "admin";
}

export function mayCall(principal: Principal, access: Exclude<RequiredAccess, "deployment">): boolean {
  return access === "any" || permissionsOfAccess(access).some((permission) => may(principal, permission));
}

// The routes that need no Principal. All other routes need one, including new routes.

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

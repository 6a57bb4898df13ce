/** The context of every route: the Worker's bindings, and the caller. */
import type { Principal } from "./principal.ts";
import type { Context } from "hono";
import { settings } from "../config.ts";
import { isPublicHost } from "./addresses.ts";
import ipaddr from "ipaddr.js";
import { Problem } from "../lib/problem.ts";
import { deriveUuid, uuidv7 } from "../lib/uuid.ts";

export interface App {
  Bindings: Env;
  /**
   * `threadId`: the id of the thread that the path names in another way. `serverFault`: the answer has the status 200 and
   * says that the server failed, as JSON-RPC does. `idempotency`: what the request has under its Idempotency-Key. `appOnly`:
   * only the project's `app` may answer the request, and no built-in route.
   */
  Variables: {
    principal: Principal;
    threadId?: string;
    serverFault?: boolean;
    idempotency?: IdempotencyKey;
    appOnly?: boolean;
  };
}

/** The Idempotency-Key of a request. Times are milliseconds since 1970. */
export interface IdempotencyKey {
  /** With the credential that uses it. */
  key: string;
  /** When it was first claimed, milliseconds. */
  epoch: number;
  /** When it ends. */
  ends: number;
  /** The first request was answered with a stream that is not kept, or not yet. */
  isRepeat: boolean;
  /** Keeps the whole text of the stream that answers the request, up to a size: a repetition gets it. */
  keepStream: (text: string) => Promise<void>;
}

/** A path of this server as callers have it: with `http.mount_prefix`, which the routes themselves do not have. */
export const withMountPrefix = (path: string): string => `${settings.http.mount_prefix ?? ""}${path}`;

/** The address below which callers find the routes: the server's origin and `http.mount_prefix`. */
export const serverAddress = (c: Context<App>): string => `${serverOrigin(c)}${withMountPrefix("")}`;

/**
 * The server's origin as callers have it: the request's own if PUBLIC_URL lists it, else the first that PUBLIC_URL lists.
 * Without PUBLIC_URL the request's own.
 */
export function serverOrigin(c: Context<App>): string {
  const own = ownOrigin(c);
  const listed = listedOrigins(c.env);
  return listed.includes(own) ? own : (listed[0] ?? own);
}

/**
 * Whether `serverOrigin` can be trusted as an identity, such as the issuer of tokens. A caller chooses the Host header, so a
 * public name is known from PUBLIC_URL only. Names of private networks lead nowhere else, and Cloudflare itself routes
 * workers.dev.
 */
export function isKnownOrigin(c: Context<App>): boolean {
  const { hostname } = new URL(c.req.url);
  return listedOrigins(c.env).length > 0 || !isPublicHost(hostname) || hostname.endsWith(".workers.dev");
}

/** The address that PUBLIC_URL lists first, for links that no request leads to. Undefined without PUBLIC_URL. */
export function publicAddress(env: Env): string | undefined {
  const [first] = listedOrigins(env);
  return first === undefined ? undefined : `${first}${withMountPrefix("")}`;
}

function listedOrigins({ PUBLIC_URL = "" }: Env): string[] {
  return PUBLIC_URL.split(",").flatMap((one) => one.trim().replace(/\/+$/, "") || []);
}

/** The address that the request was sent to, with https where a proxy says so. */
function ownOrigin(c: Context<App>): string {
  const url = new URL(c.req.url);
  // X-Forwarded-Host is ignored: any client can send it, and links in answers would then lead to another host.
  if (c.req.header("x-forwarded-proto") === "https") url.protocol = "https:";
  return url.origin;
}

// Where a request comes from.

/** A network as `address/bits`, or one address. */
export function isNetwork(text: string): boolean {
  const [address = ""] = text.split("/", 1);
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  return isAddress && (text === address || ipaddr.isValidCIDR(text));
}

/** Whether an address is in one of the networks. An unknown address is in none. */
export function isWithin(address: string | undefined, networks: string[]): boolean {
  if (address === undefined || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return networks.some((network) => {
    const [base, bits] = network.includes("/") ? ipaddr.parseCIDR(network) : parseSingle(network);
    return base.kind() === parsed.kind() && parsed.match(base, bits);
  });
}

function parseSingle(address: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const parsed = ipaddr.process(address);
  return [parsed, parsed.kind() === "ipv4" ? 32 : 128];
}

/** The caller's address from Cloudflare; undefined without Cloudflare in front of the Worker. */
export function callerAddress(c: Context<App>): string | undefined {
  return c.req.header("cf-connecting-ip")?.slice(0, 100);
}

/**
 * What counts as one caller: an IPv4 address, or the /64 of an IPv6 address. A /64 is the smallest network that a site gets,
 * so its 2^64 addresses are one holder's.
 */
export function toNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

// The caller among people.

/** The name of those who review, commit and like: the user of the deployment's own `Auth`, else the credential. */
export function nameCaller(c: Context<App>): string {
  const { user, credentialId } = c.get("principal");
  return user?.identity ?? credentialId;
}

// The ids of what a request makes: the same ones when it is repeated under its Idempotency-Key.

/**
 * The id (UUID) for what this request makes: a new one, but always the same one for repetitions of a request under its
 * Idempotency-Key, as long as the key is kept. So a repetition leads to what the request made when its answer is not kept
 * or was lost. `part` tells apart what one request makes.
 */
export function idempotentId(c: Context<App>, part = ""): string {
  const held = c.get("idempotency");
  if (!held) return uuidv7();
  const { key, epoch } = held;
  const texts = ["idempotency", c.get("principal").workspaceId, key, String(epoch)];
  if (part !== "") texts.push(part);
  return deriveUuid(texts.join("\n"));
}

/** The same where a repetition must be known as one; undefined without an Idempotency-Key. */
export const repeatableId = (c: Context<App>): string | undefined => c.get("idempotency") && idempotentId(c);

/**
 * The id for a row that this request inserts, or the row that an earlier try of the request inserted: the database may
 * carry out a write and lose its answer.
 */
export async function newOrEarlier<T>(
  c: Context<App>,
  find: (id: string) => Promise<T | undefined>,
): Promise<{ id: string; earlier?: T }> {
  const id = idempotentId(c);
  return { id, earlier: c.get("idempotency") && (await find(id)) };
}

/**
 * The id for a row whose answer alone shows a secret.
 *
 * @throws Problem 409 when an earlier try of the request inserted the row: its secret is lost with its answer
 */
export async function newSecretId(c: Context<App>, find: (id: string) => Promise<unknown>): Promise<string> {
  const { id, earlier } = await newOrEarlier(c, find);
  if (earlier === undefined) return id;
  throw new Problem(
    409,
    `The first request with this Idempotency-Key made ${id}, and its secret was shown once. Delete it, and use a new Idempotency-Key for another.`,
  );
}

/**
 * Presigned links: who holds one may give one key's feedback on one run until it expires, and nothing else. A token is
 * a random UUID, for that is what the clients that read it out of a link insist on.
 */
import * as v from "valibot";
import { Time } from "../../../http/shapes.ts";
import { openSecret, sealSecret } from "../../../access/encryption/keys.ts";
import { sha256 } from "../../../lib/crypto.ts";
import { database } from "../../../db/client.ts";
import type { FeedbackConfig } from "./table.ts";
import { Problem } from "../../../lib/problem.ts";
import { createFeedback } from "./create.ts";
import { type CreateToken, type TokenFeedback } from "./schema.ts";
import { findConfig, findToken, saveTokens, type TokenRow, tokensOfRun } from "./store.ts";

const TOKENS_PATH = "/api/v1/feedback/tokens";

const PURPOSE = "feedback token";
const MINUTE_MS = 60_000;
/** The default lifetime of a link. */
const VALID_MINUTES = 180;
const MAX_MINUTES = 366 * 24 * 60;

export interface TokenInput {
  runId: string;
  key: string;
  config?: FeedbackConfig;
  /** Milliseconds since the epoch. Left out: three hours from now. */
  expiresAt?: number;
  /** The future location of the run, when its trace is sent later. */
  place?: { projectId: string; startTime: number };
}

export type FeedbackToken = v.InferOutput<typeof FeedbackToken>;
export const FeedbackToken = v.pipe(
  v.object({ id: v.string(), url: v.string(), expires_at: Time, feedback_key: v.string() }),
  v.title("FeedbackLink"),
);

/** Makes links, in the order of the request. `origin`: the server's own address, as the links' holders have it. */
export async function issueTokens(
  env: Env,
  workspaceId: string,
  origin: string,
  wanted: TokenInput[],
): Promise<FeedbackToken[]> {
  const made = await Promise.all(wanted.map((one) => tokenRow(env, workspaceId, one)));
  await saveTokens(
    database(env.DB),
    made.map(({ row }) => row),
  );
  return made.map(({ token, row }) => toWire(token, row, origin));
}

async function tokenRow(env: Env, workspaceId: string, { runId, key, config, expiresAt, place }: TokenInput) {
  const token = crypto.randomUUID();
  const row: TokenRow = {
    hash: sha256(token),
    sealed: await sealSecret(env, workspaceId, token, PURPOSE),
    workspaceId,
    runId,
    key,
    config: config ?? null,
    projectId: place?.projectId ?? null,
    startTime: place?.startTime ?? null,
    expiresAt: expiresAt ?? Date.now() + VALID_MINUTES * MINUTE_MS,
  };
  return { token, row };
}

/** The expiry of a link. 422 when it is in the past, or more than a year ahead. */
export function readExpiry({ expires_in, expires_at }: CreateToken, now: number): number {
  const { days, hours, minutes } = expires_in ?? { days: 0, hours: 0, minutes: VALID_MINUTES };
  const end = expires_at == null ? now + ((days * 24 + hours) * 60 + minutes) * MINUTE_MS : expires_at / 1000;
  if (end > now && end <= now + MAX_MINUTES * MINUTE_MS) return Math.floor(end);
  throw new Problem(422, "A link must expire after now, and within 366 days.");
}

/** The run's links that are still good. */
export async function listTokens(
  env: Env,
  workspaceId: string,
  origin: string,
  { run_id, limit, offset }: { run_id: string; limit: number; offset: number },
): Promise<FeedbackToken[]> {
  const rows = await tokensOfRun(database(env.DB), workspaceId, run_id, { now: Date.now(), limit, offset });
  const open = rows.map(async (row) => {
    // Encrypted with a key that the deployment no longer has: the link still works, but cannot be shown again.
    const token = await openSecret(env, workspaceId, row.sealed, PURPOSE).catch(() => undefined);
    return token === undefined ? [] : [toWire(token, row, origin)];
  });
  return (await Promise.all(open)).flat();
}

/** What a link is for; the config is the link's own, or else its key's. 404 when it is not known, or has expired. */
export async function findLiveToken(env: Env, token: string): Promise<TokenRow> {
  const db = database(env.DB);
  const row = await findToken(db, sha256(token), Date.now());
  if (!row) throw new Problem(404, "This link for feedback is not valid, or has expired.");
  return { ...row, config: row.config ?? (await findConfig(db, row.workspaceId, row.key))?.config ?? null };
}

/** Stores what a link's holder gives. Each time is feedback of its own. 422 when the link's config does not allow it. */
export async function storeTokenFeedback(
  env: Env,
  row: TokenRow,
  { metadata, ...given }: TokenFeedback,
): Promise<void> {
  const fault = row.config ? findFault(row.config, given) : undefined;
  if (fault) throw new Problem(422, fault);
  const by = { workspaceId: row.workspaceId, scopes: ["write" as const], kind: "key" as const, credentialId: row.hash };
  await createFeedback(env, by, {
    ...given,
    run_id: row.runId,
    key: row.key,
    session_id: row.projectId,
    start_time: row.startTime,
    feedback_config: row.config,
    feedback_source: { type: "api", metadata },
  });
}

/** What of the feedback its config does not allow, and what it does. */
function findFault(
  { type, min, max, categories }: FeedbackConfig,
  { score, value }: TokenFeedback,
): string | undefined {
  const number = score == null ? undefined : Number(score);
  if (type === "continuous" && number !== undefined && !(number >= (min ?? -Infinity) && number <= (max ?? Infinity))) {
    return `score must be from ${min ?? "any"} to ${max ?? "any"}.`;
  }
  if (type !== "categorical" || !categories) return undefined;
  const known =
    (number === undefined || categories.some((one) => one.value === number)) &&
    (typeof value !== "string" || categories.some((one) => one.label === value));
  return known ? undefined : "score and value must be those of one of the key's categories.";
}

function toWire(token: string, { key, expiresAt }: TokenRow, origin: string): FeedbackToken {
  const expires = new Date(expiresAt).toISOString();
  return { id: token, url: `${origin}${TOKENS_PATH}/${token}`, expires_at: expires, feedback_key: key };
}

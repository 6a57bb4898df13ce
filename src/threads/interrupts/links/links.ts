/** Links by which a question is answered: made, listed, revoked, and what an answer by one starts. */
import { budgetInterrupt } from "../budget.ts";
import { remoteProblem } from "../../../lib/problem.ts";
import { deriveUuid } from "../../../lib/uuid.ts";
import { KEPT_MS } from "../../../access/idempotency/store.ts";
import { runOfInterrupt } from "../resume.ts";
import { listInterrupts } from "../waiting.ts";
import { acceptedResponseOfRun, findAcceptedResponse } from "../responses.ts";
import {
  type Actor,
  type InterruptLink,
  type NewLink,
  type LinkState,
  type ResponseChannel,
  threadNotFound,
  type Interrupt,
} from "../../types.ts";
import type { Json } from "../../../lib/json.ts";
import type { ThreadContext } from "../../context.ts";
import { pendingInterrupts } from "../../record.ts";
import type { RunRequest } from "../../rpc.ts";
import type { RunRecord } from "../../run.ts";
import { refuseLateResponses, findRunThatResumes } from "../../runs/insert.ts";
import * as v from "valibot";
import { sealText, type SealKeys, unseal } from "../../../lib/crypto.ts";
import { forEach } from "../../limits.ts";
import { threadStub } from "../../remote.ts";

/** Links of one thread that have not expired. */
export const MAX_LINKS = 100;
/** How long a link of the server's own is valid, milliseconds. */
const OWN_MS = 7 * 24 * 3_600_000;

type OpenRuns = readonly RunRecord[];

/** Makes a link, or finds the one that the same call has made. */
export function makeLink(context: ThreadContext, open: OpenRuns, given: NewLink): InterruptLink {
  const { record, tables } = context;
  if (!record || record.temporary) throw threadNotFound(context.threadId);
  const known = readLink(context, given.link_id);
  if (known) return known;
  if (tables.tombstones.has(given.link_id)) throw remoteProblem(409, "This link has been revoked.", "link_revoked");
  const { interrupt_id } = given;
  const taken = findAcceptedResponse(context, interrupt_id) ?? findRunThatResumes(context, open, interrupt_id);
  if (!taken && !pendingInterrupts(record).includes(interrupt_id))
    throw remoteProblem(404, "No interrupt with this id waits for an answer.");
  refuseLateResponses(context, open, { must_resume: [interrupt_id] });
  const fault = findLinkFault(context, interrupt_id);
  if (fault) throw remoteProblem(409, fault);
  const links = validLinks(context);
  if (links.length >= MAX_LINKS) throw remoteProblem(409, `A thread has at most ${MAX_LINKS} links. Revoke others.`);
  const link = { ...given, turn: tables.responses.turn(interrupt_id), created: Date.now() };
  tables.transaction(() => tables.responses.putLink(link.link_id, JSON.stringify(link)));
  return link;
}

/** The server's own link for the question; see `LinkRpc`. Its id is derived, so that all deliveries and readers share it. */
export function ownLink(
  context: ThreadContext,
  open: OpenRuns,
  id: string,
  via: ResponseChannel,
): InterruptLink | undefined {
  const { record, tables, workspaceId, threadId } = context;
  if (!record || record.temporary || !pendingInterrupts(record).includes(id) || findRunThatResumes(context, open, id))
    return undefined;
  if (findLinkFault(context, id)) return undefined;
  const turn = tables.responses.turn(id);
  // A day in advance: the link that is given out is valid for a while.
  const period = Math.floor(Date.now() / (OWN_MS / 2));
  const link_id = deriveUuid(
    JSON.stringify(["own link", workspaceId, threadId, id, turn, via, record.created, period]),
  );
  const known = readLink(context, link_id);
  if (known) return known;
  // Until the period is over: the address that was revoked must not become valid again.
  if (tables.tombstones.has(link_id) || validLinks(context).length >= MAX_LINKS) return undefined;
  const by = { kind: "weir", credentialId: via };
  const link = { link_id, interrupt_id: id, expires: Date.now() + OWN_MS, by, turn, created: Date.now() };
  tables.transaction(() => tables.responses.putLink(link_id, JSON.stringify(link)));
  return link;
}

export function listLinks(context: ThreadContext, open: OpenRuns, interruptId: string): LinkState[] {
  if (!context.record || context.record.temporary) throw threadNotFound(context.threadId);
  return validLinks(context)
    .filter((link) => link.interrupt_id === interruptId)
    .sort((a, b) => a.created - b.created)
    .map((link) => linkStateOf(context, open, link));
}

export function removeLink(context: ThreadContext, interruptId: string, linkId: string): boolean {
  const { record, tables } = context;
  const link = record && !record.temporary ? readLink(context, linkId) : undefined;
  if (link?.interrupt_id !== interruptId) return false;
  tables.transaction(() => {
    tables.responses.removeLink(linkId);
    // The id of a link of the server's own is derived for less than the link's time, that of another one as long as a key is kept.
    tables.tombstones.add(linkId, Math.max(link.expires, Date.now() + KEPT_MS));
  });
  return true;
}

/** Where the question of a link stands; undefined when there is no such link, or it has expired. */
export function findLinkState(context: ThreadContext, open: OpenRuns, linkId: string): LinkState | undefined {
  const { record } = context;
  const link = record && !record.temporary ? readLink(context, linkId) : undefined;
  return link && link.expires > Date.now() ? linkStateOf(context, open, link) : undefined;
}

function linkStateOf(context: ThreadContext, open: OpenRuns, link: InterruptLink): LinkState {
  const { record, tables } = context;
  const { interrupt_id, turn } = link;
  const isOfTurn = tables.responses.turn(interrupt_id) === turn;
  const resuming = isOfTurn ? findRunThatResumes(context, open, interrupt_id) : undefined;
  const first = resuming ? acceptedResponseOfRun(resuming) : findAcceptedResponse(context, interrupt_id, turn);
  if (first) return { state: "answered", link, first };
  const interrupt = isOfTurn ? findInterrupt(context, interrupt_id) : undefined;
  if (!interrupt) return { state: "gone", link };
  const { graph_id = "" } = (record?.metadata ?? {}) as { graph_id?: string };
  return { state: "waits", link, value: interrupt.value, graph_id };
}

/**
 * The run that resumes with these answers, by the ids of their questions: with what the run that asked was started with, as its user and in its task, and with its
 * webhook. Undefined when no run of the thread has asked.
 */
export function requestToResume(
  context: ThreadContext,
  { run_id, resume, actor }: { run_id: string; resume: Json; actor: Actor },
): RunRequest | undefined {
  const ids = Object.keys(resume);
  const asking = ids[0] === undefined ? undefined : runOfInterrupt(context, ids[0]);
  if (!asking) return undefined;
  const { input: _input, command: _command, checkpoint: _checkpoint, fingerprint: _print, ...request } = asking.request;
  const { chosen_id: _chosen, after_seconds: _after, ...asked } = request;
  const { temporary: _temporary, keep_interrupts: _keep, keep_until: _until, ...own } = asked;
  return {
    ...own,
    run_id,
    command: { resume },
    must_resume: ids,
    actor,
    multitask_strategy: "enqueue",
    if_not_exists: "reject",
    on_disconnect: "continue",
    ...(own.task && { task: { task_id: own.task.task_id } }),
  };
}

function findInterrupt({ record }: ThreadContext, id: string): Interrupt | undefined {
  return listInterrupts(record?.interrupts).find((one) => one.id === id);
}

/** Why a question cannot be answered by a link. */
function findLinkFault(context: ThreadContext, id: string): string | undefined {
  const interrupt = findInterrupt(context, id);
  if (interrupt && budgetInterrupt(interrupt))
    return "The question of a budget is answered with a credential: who holds a link must not spend more.";
  if (!runOfInterrupt(context, id)) return "No run of this thread has asked the question: resume it with a run.";
  return undefined;
}

function readLink({ tables }: ThreadContext, linkId: string): InterruptLink | undefined {
  const text = tables.responses.link(linkId);
  return text === undefined ? undefined : (JSON.parse(text) as InterruptLink);
}

/** The links that have not expired. The others are removed. */
function validLinks({ tables }: ThreadContext): InterruptLink[] {
  const links = tables.responses.links().map((text) => JSON.parse(text) as InterruptLink);
  const old = links.filter(({ expires }) => expires <= Date.now());
  if (old.length > 0)
    tables.transaction(() => {
      for (const { link_id } of old) tables.responses.removeLink(link_id);
    });
  return links.filter((link) => !old.includes(link));
}

// The token of a link: its workspace, thread, id, interrupt and end, sealed (lib/crypto.ts). ENCRYPTION_KEY authenticates it, so that no
// other can be made, and a reader learns nothing from it. The thread has the link itself, which can be revoked.

const PURPOSE = "interrupt link";
const RESPONSES_PATH = "/api/v1/answers";

const TokenParts = v.strictTuple([v.string(), v.string(), v.string(), v.string(), v.number()]);

export interface LinkToken {
  workspaceId: string;
  threadId: string;
  linkId: string;
  interruptId: string;
  /** Milliseconds since 1970. */
  expires: number;
}

/** The address at which the link is answered. `origin`: this server's own, as the link's holder has it. */
export async function urlOfLink(
  keys: SealKeys,
  origin: string,
  { workspaceId, threadId }: Pick<LinkToken, "workspaceId" | "threadId">,
  { link_id, interrupt_id, expires }: InterruptLink,
): Promise<string> {
  const token = await sealText(keys, JSON.stringify([workspaceId, threadId, link_id, interrupt_id, expires]), PURPOSE);
  return `${origin}${RESPONSES_PATH}/${Buffer.from(token).toString("base64url")}`;
}

/** What a token names; undefined for one that this deployment has not made. It may have expired. */
export async function openLinkToken(keys: SealKeys, token: string): Promise<LinkToken | undefined> {
  const text = await unseal(keys, Buffer.from(token, "base64url").toString(), PURPOSE).catch(() => undefined);
  const parsed = text === undefined ? undefined : v.safeParse(TokenParts, JSON.parse(text));
  if (!parsed?.success) return undefined;
  const [workspaceId, threadId, linkId, interruptId, expires] = parsed.output;
  return { workspaceId, threadId, linkId, interruptId, expires };
}

// The links that the server itself gives out with the questions of a run, over MCP and A2A.

/** Questions of one run that get a link. */
const MAX_LINKS_OF_RUN = 20;

export interface OwnLink {
  interrupt_id: string;
  answer_url: string;
  expires_at: string;
}

/** Where the questions wait. `address`: this server's, as the caller has it. */
export interface InterruptedThread {
  env: Env;
  workspaceId: string;
  threadId: string;
  address: string;
}

/** A link for each question that can be answered by one. Its holder may answer, so the caller must be allowed to start runs. */
export async function issueLinks(
  { env, workspaceId, threadId, address }: InterruptedThread,
  via: Extract<ResponseChannel, "mcp" | "a2a">,
  interruptIds: string[],
): Promise<OwnLink[]> {
  const thread = threadStub(env, workspaceId, threadId);
  const given = await forEach(interruptIds.slice(0, MAX_LINKS_OF_RUN), async (interrupt_id) => {
    const link = await thread.ownLink(interrupt_id, via);
    if (!link) return [];
    const answer_url = await urlOfLink(env, address, { workspaceId, threadId }, link);
    return [{ interrupt_id, answer_url, expires_at: new Date(link.expires).toISOString() }];
  });
  return given.flat();
}

/** From a token to its question, and an answer to the run that it resumes. */
import { isDeepStrictEqual } from "node:util";
import type { Context } from "hono";
import { NESTING, nestsDeeper } from "../lib/json.ts";
import { callerAddress } from "../http/context.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { uuidv7 } from "../lib/uuid.ts";
import { type HeldLink, openToken } from "../threads/answers/token.ts";
import type { FirstAnswer, Standing } from "../threads/answering.ts";
import { threadStub } from "../threads/stub.ts";
import { actionsIn, faultOfDecisions } from "./review.ts";

/** Characters of a User-Agent that are kept. */
const AGENT = 300;

const invalid = () => new Problem(404, "This link is not valid. It may have been revoked, or its thread deleted.");
const questionGone = () => new Problem(410, "The question is no longer asked: the thread has moved on.");

/** 404 for a token that this deployment has not made, 410 for one that has expired. */
export async function heldLink(env: Env, token: string): Promise<HeldLink> {
  const held = await openToken(env, token);
  if (!held) throw invalid();
  if (held.expires <= Date.now()) throw new Problem(410, "This link has expired.");
  return held;
}

type Open = Exclude<Standing, { state: "gone" }>;

/** Where the question stands. 404 when the link was revoked, 410 when the question is no longer asked. */
export async function readOpenLink(env: Env, { workspaceId, threadId, linkId }: HeldLink): Promise<Open> {
  const standing = await threadStub(env, workspaceId, threadId).askedBy(linkId);
  if (!standing) throw invalid();
  if (standing.state === "gone") throw questionGone();
  return standing;
}

/** Answers the question. `fault`: the link or the question does not allow the answer. `first`: another one was first. */
export async function answerBy(
  c: Context<App>,
  { workspaceId, threadId, linkId }: HeldLink,
  { link, value }: Extract<Standing, { state: "waits" }>,
  answer: unknown,
): Promise<{ run_id: string } | { first: FirstAnswer } | { fault: string }> {
  if (nestsDeeper(answer)) return { fault: `The answer nests deeper than ${NESTING} levels.` };
  const fault = checkAnswer(value, link.answers, answer);
  if (fault) return { fault };
  const actor = {
    kind: "link",
    credentialId: linkId,
    via: "link" as const,
    name: link.name,
    address: callerAddress(c),
    agent: c.req.header("user-agent")?.slice(0, AGENT),
  };
  const given = { run_id: uuidv7(), answer, actor };
  const outcome = await threadStub(c.env, workspaceId, threadId).answerLink(linkId, given);
  if (!outcome) throw invalid();
  if (outcome.state === "accepted") return { run_id: outcome.run_id };
  if (outcome.state === "answered") return { first: outcome.first };
  throw questionGone();
}

function checkAnswer(value: unknown, only: unknown[] | undefined, answer: unknown): string | undefined {
  const actions = actionsIn(value);
  if (actions) return faultOfDecisions(actions, only, answer);
  if (answer === undefined) return "Give the answer as answer.";
  if (only && !only.some((one) => isDeepStrictEqual(one, answer)))
    return "The link accepts only the answers that its page shows.";
  return undefined;
}

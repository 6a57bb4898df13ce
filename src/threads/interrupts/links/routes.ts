/** Links by which an interrupt is answered: made and revoked with a credential, answered without one. */
import { isDeepStrictEqual } from "node:util";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { NESTING, nestsDeeper } from "../../../lib/json.ts";
import { callerAddress, type App, serverAddress, idempotentId } from "../../../http/context.ts";
import { Problem, toProblem } from "../../../lib/problem.ts";
import { uuidv7 } from "../../../lib/uuid.ts";
import { type LinkToken, openLinkToken, urlOfLink } from "./links.ts";
import { listInterrupts } from "../waiting.ts";
import type { AcceptedResponse, LinkState as Standing } from "../../types.ts";
import { threadStub } from "../../remote.ts";
import {
  actionsIn,
  faultOfDecisions,
  readForm,
  earlierResponsePage,
  responseFormPage,
  messagePage,
  thanksPage,
  limitDecisions,
} from "./pages.ts";
import * as v from "valibot";
import { audit } from "../../../access/audit/record.ts";
import { limitAddress, limitLink } from "../../../access/auth/limits.ts";
import { createDoc, eitherBody, json, media, NOTHING, PROBLEM } from "../../../http/route.ts";
import { body, param, readBody } from "../../../http/validate.ts";
import { requireFound, openThread } from "../../api/access.ts";
import {
  AcceptedBody,
  EarlierResponse,
  LinkedInterrupt,
  CreateLink,
  ResponseBody,
  InterruptParam,
  LinkParam,
  ListedLink,
  CreatedLink,
  TokenParam,
  toWireEarlierResponse,
  toWireLinkedInterrupt,
  toWireLink,
  toWireListedLink,
} from "./schema.ts";

// From a token to its question, and an answer to the run that it resumes.

/** Characters of a User-Agent that are kept. */
const AGENT = 300;

const invalid = () => new Problem(404, "This link is not valid. It may have been revoked, or its thread deleted.");
const interruptGone = () => new Problem(410, "The question is no longer asked: the thread has moved on.");

/** 404 for a token that this deployment has not made, 410 for one that has expired. */
export async function readLinkToken(env: Env, token: string): Promise<LinkToken> {
  const held = await openLinkToken(env, token);
  if (!held) throw invalid();
  if (held.expires <= Date.now()) throw new Problem(410, "This link has expired.");
  return held;
}

type Open = Exclude<Standing, { state: "gone" }>;

/** Where the question stands. 404 when the link was revoked, 410 when the question is no longer asked. */
export async function readOpenLink(env: Env, { workspaceId, threadId, linkId }: LinkToken): Promise<Open> {
  const linkState = await threadStub(env, workspaceId, threadId).linkState(linkId);
  if (!linkState) throw invalid();
  if (linkState.state === "gone") throw interruptGone();
  return linkState;
}

/** Answers the question. `fault`: the link or the question does not allow the answer. `first`: another one was first. */
export async function respondBy(
  c: Context<App>,
  { workspaceId, threadId, linkId }: LinkToken,
  { link, value }: Extract<Standing, { state: "waits" }>,
  answer: unknown,
): Promise<{ run_id: string } | { first: AcceptedResponse } | { fault: string }> {
  if (nestsDeeper(answer)) return { fault: `The answer nests deeper than ${NESTING} levels.` };
  const fault = faultOfResponse(value, link.answers, answer);
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
  const outcome = await threadStub(c.env, workspaceId, threadId).respondByLink(linkId, given);
  if (!outcome) throw invalid();
  if (outcome.state === "accepted") return { run_id: outcome.run_id };
  if (outcome.state === "answered") return { first: outcome.first };
  throw interruptGone();
}

function faultOfResponse(value: unknown, only: unknown[] | undefined, answer: unknown): string | undefined {
  const actions = actionsIn(value);
  if (actions) return faultOfDecisions(actions, only, answer);
  if (answer === undefined) return "Give the answer as answer.";
  if (only && !only.some((one) => isDeepStrictEqual(one, answer)))
    return "The link accepts only the answers that its page shows.";
  return undefined;
}

const doc = createDoc("Interrupts");
/** Bytes of an answer. */
const RESPONSE_LIMIT = 256 * 1024;
const PRIVATE = { "cache-control": "no-store", "referrer-policy": "no-referrer", "x-robots-tag": "noindex, nofollow" };

export const interruptLinks = new Hono<App>()
  .post(
    "/:thread_id/interrupts/:interrupt_id/links",
    doc("Make a link by which an interrupt is answered without an account", CreatedLink),
    param(InterruptParam),
    body(CreateLink),
    async (c) => {
      const { thread_id, interrupt_id } = c.req.valid("param");
      const { expires_in, name, answers } = c.req.valid("json");
      const { workspaceId, kind, credentialId } = c.get("principal");
      if (answers) await checkAllowedResponses(c, thread_id, interrupt_id, answers);
      const link = await openThread(c, thread_id).makeLink({
        link_id: idempotentId(c),
        interrupt_id,
        name,
        answers,
        expires: Date.now() + expires_in * 1000,
        by: { kind, credentialId },
      });
      const detail = { thread_id, interrupt_id, ...(name !== undefined && { name }) };
      // Before the address is answered: until then no one can use the link.
      await audit(c, { action: "interrupt_link.created", targetId: link.link_id, detail });
      const url = await urlOfLink(c.env, serverAddress(c), { workspaceId, threadId: thread_id }, link);
      return c.json({ ...toWireLink(link), url }, 200, { "cache-control": "no-store" });
    },
  )
  .get(
    "/:thread_id/interrupts/:interrupt_id/links",
    doc("List the links of an interrupt that have not expired, with who has answered", v.array(ListedLink)),
    param(InterruptParam),
    async (c) => {
      const { thread_id, interrupt_id } = c.req.valid("param");
      return c.json((await openThread(c, thread_id).listLinks(interrupt_id)).map(toWireListedLink));
    },
  )
  .delete(
    "/:thread_id/interrupts/:interrupt_id/links/:link_id",
    doc("Revoke a link of an interrupt", NOTHING),
    param(LinkParam),
    async (c) => {
      const { thread_id, interrupt_id, link_id } = c.req.valid("param");
      const thread = openThread(c, thread_id);
      const links = await thread.listLinks(interrupt_id);
      requireFound(
        links.find(({ link }) => link.link_id === link_id),
        "Link",
      );
      const detail = { thread_id, interrupt_id };
      await audit(c, { action: "interrupt_link.revoked", targetId: link_id, detail });
      await thread.removeLink(interrupt_id, link_id);
      return c.body(null, 204);
    },
  );

/** 422 when the link would accept a decision that no action allows. A question that does not wait is refused later. */
async function checkAllowedResponses(c: Context<App>, threadId: string, id: string, answers: unknown[]): Promise<void> {
  const interrupts = listInterrupts((await openThread(c, threadId).get(0))?.interrupts);
  const actions = actionsIn(interrupts.find((one) => one.id === id)?.value);
  const refusing = actions?.find(({ allowed }) => limitDecisions(allowed, answers).length === 0);
  if (refusing)
    throw new Problem(
      422,
      `Invalid body.answers: name types of decision on ${refusing.name}: ${refusing.allowed.join(", ")}.`,
    );
}

/** The form of the page. What programs send is JSON, which the route itself reads. */
const responseForm: MiddlewareHandler<App> = async (c, next) => {
  if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("content-type") ?? "")) return next();
  try {
    return await submitResponseForm(c);
  } catch (error) {
    const { detail, status } = toProblem(error);
    return messagePage("The answer was not sent", detail, status);
  }
};

async function submitResponseForm(c: Context<App>): Promise<Response> {
  await limitAddress(c, "answer");
  const bytes = await readBody(c.req.raw, RESPONSE_LIMIT);
  const form = new URLSearchParams(new TextDecoder().decode(bytes));
  const held = await readLinkToken(c.env, c.req.param("token") ?? "");
  const linkState = await readOpenLink(c.env, held);
  if (linkState.state === "answered") return earlierResponsePage(linkState.first, 409);
  const given = readForm(form, actionsIn(linkState.value), linkState.link.answers);
  if ("fault" in given) return responseFormPage(linkState, { fault: given.fault, given: form, status: 422 });
  const outcome = await respondBy(c, held, linkState, given.answer);
  if ("fault" in outcome) return responseFormPage(linkState, { fault: outcome.fault, given: form, status: 422 });
  return "first" in outcome ? earlierResponsePage(outcome.first, 409) : thanksPage();
}

export const responseLinks = new Hono<App>()
  .get(
    "/answers/:token",
    doc("The question of a link, as JSON or as a page with a form; it answers nothing", {
      200: eitherBody(json(LinkedInterrupt), media("text/html")),
      default: eitherBody(PROBLEM, media("text/html")),
    }),
    param(TokenParam),
    async (c) => {
      const wantsPage = c.req.header("accept")?.includes("text/html") ?? false;
      try {
        await limitLink(c);
        const linkState = await readOpenLink(c.env, await readLinkToken(c.env, c.req.valid("param").token));
        if (!wantsPage) return c.json(toWireLinkedInterrupt(linkState), 200, PRIVATE);
        return await (linkState.state === "answered"
          ? earlierResponsePage(linkState.first, 200)
          : responseFormPage(linkState));
      } catch (error) {
        if (!wantsPage) throw error;
        const { detail, status } = toProblem(error);
        return messagePage("This link does not lead to a question", detail, status);
      }
    },
  )
  .post(
    "/answers/:token",
    doc("Answer the question of a link; the form of its page posts here, too", {
      200: eitherBody(json(AcceptedBody), media("text/html")),
      // A problem: the deployed graph cannot continue the thread.
      409: eitherBody(json(EarlierResponse), PROBLEM, media("text/html")),
      default: eitherBody(PROBLEM, media("text/html")),
    }),
    param(TokenParam),
    responseForm,
    body(ResponseBody, { limit: RESPONSE_LIMIT }),
    async (c) => {
      await limitAddress(c, "answer");
      const held = await readLinkToken(c.env, c.req.valid("param").token);
      const linkState = await readOpenLink(c.env, held);
      if (linkState.state === "answered") return c.json(toWireEarlierResponse(linkState.first), 409, PRIVATE);
      const outcome = await respondBy(c, held, linkState, c.req.valid("json").answer);
      if ("fault" in outcome) throw new Problem(422, outcome.fault);
      if ("first" in outcome) return c.json(toWireEarlierResponse(outcome.first), 409, PRIVATE);
      return c.json({ run_id: outcome.run_id }, 200, PRIVATE);
    },
  );

/** Presigned links for feedback: made and listed with a key, used without one. */
import { html } from "hono/html";
import type { FeedbackConfig } from "./table.ts";
import { type Html, htmlPage } from "../../../http/html.ts";
import type { TokenRow } from "./store.ts";
import * as v from "valibot";
import { type Context, Hono } from "hono";
import { audit } from "../../../access/audit/record.ts";
import { limitAddress, limitLink } from "../../../access/auth/limits.ts";
import { AnyObject, ResultMessage } from "../../../http/shapes.ts";
import { createDoc, eitherBody, json, media, PROBLEM } from "../../../http/route.ts";
import { serverAddress, type App } from "../../../http/context.ts";
import { type Problem, toProblem } from "../../../lib/problem.ts";
import { body, param, query } from "../../../http/validate.ts";
import { CreateTokens, TokenFeedback, TokenFeedbackQuery, ListTokens, TokenParam } from "./schema.ts";
import { readExpiry, storeTokenFeedback, findLiveToken, issueTokens, listTokens, FeedbackToken } from "./tokens.ts";

// What a person sees who follows a link for feedback in a browser.

/** Without a config: the two answers that most keys are about. */
const THUMBS: FeedbackConfig = {
  type: "categorical",
  categories: [
    { value: 1, label: "Good" },
    { value: 0, label: "Bad" },
  ],
};

/** The form leads back to the link, now with what is given in its query. */
export function feedbackFormPage({ key, config }: Pick<TokenRow, "key" | "config">) {
  return htmlPage(
    "Feedback",
    html`<h1>Rate this answer</h1>
      <p class="soft">Criterion: ${key}</p>
      <form method="get">
        <label class="field">
          Comment (optional)
          <textarea name="comment" rows="4" maxlength="10000"></textarea>
        </label>
        ${scores(config ?? THUMBS)}
      </form>`,
    200,
  );
}

function scores({ type, min, max, categories }: FeedbackConfig): Html {
  if (type === "categorical") {
    const answers = (categories ?? []).map(
      ({ value, label }) => html`<button name="score" value="${value}">${label ?? value}</button>`,
    );
    return html`<div class="actions">${answers}</div>`;
  }
  const bounds = [min == null ? "" : `from ${min}`, max == null ? "" : `to ${max}`].filter(Boolean).join(" ");
  const number = html`<label class="field">
    Score ${bounds}
    <input type="number" name="score" step="any" min="${min ?? ""}" max="${max ?? ""}" required />
  </label>`;
  return html`${type === "continuous" ? number : ""}
    <div class="actions"><button class="primary">Send</button></div>`;
}

export function thanksPage() {
  return htmlPage(
    "Thank you",
    html`<h1>Thank you</h1>
      <p class="soft">Your feedback is stored. You can close this page.</p>`,
    200,
  );
}

export function failedPage(message: string, status: number) {
  return htmlPage(
    "Feedback",
    html`<h1>The feedback was not sent</h1>
      <p class="soft">${message}</p>`,
    status,
  );
}

const doc = createDoc("Feedback");
const THANKS = { message: "Feedback received" };

export const feedbackTokens = new Hono<App>()
  .post(
    "/feedback/tokens",
    doc("Make links by which feedback is given without a key", v.union([FeedbackToken, v.array(FeedbackToken)])),
    body(CreateTokens),
    async (c) => {
      const asked = c.req.valid("json");
      const now = Date.now();
      const wanted = [asked].flat().map((one) => ({
        runId: one.run_id,
        key: one.feedback_key,
        config: one.feedback_config ?? undefined,
        expiresAt: readExpiry(one, now),
      }));
      for (const [targetId, links] of Map.groupBy(wanted, ({ runId }) => runId))
        await audit(c, { action: "feedback_link.created", targetId, detail: { keys: links.map(({ key }) => key) } });
      const made = await issueTokens(c.env, c.get("principal").workspaceId, serverAddress(c), wanted);
      return c.json(Array.isArray(asked) ? made : made[0], 200, { "cache-control": "no-store" });
    },
  )
  .get(
    "/feedback/tokens",
    doc("List a run's links for feedback that have not expired", v.array(FeedbackToken)),
    query(ListTokens),
    async (c) =>
      c.json(await listTokens(c.env, c.get("principal").workspaceId, serverAddress(c), c.req.valid("query"))),
  )
  .get(
    "/feedback/tokens/:token",
    doc("Give feedback by a link; a browser that gives none yet gets a form", {
      200: eitherBody(json(AnyObject), media("text/html")),
      default: eitherBody(PROBLEM, media("text/html")),
    }),
    param(TokenParam),
    query(TokenFeedbackQuery),
    async (c) => {
      if (onlyLooks(c)) return c.body(null, 200, { "cache-control": "no-store" });
      await limitLink(c);
      if (!wantsPage(c)) return createFromToken(c, c.req.valid("param").token, c.req.valid("query"));
      try {
        const held = await findLiveToken(c.env, c.req.valid("param").token);
        if (new URL(c.req.url).search === "") return await feedbackFormPage(held);
        await createFromToken(c, c.req.valid("param").token, c.req.valid("query"));
        return await thanksPage();
      } catch (error) {
        return failurePage(toProblem(error));
      }
    },
  )
  .post(
    "/feedback/tokens/:token",
    doc("Give feedback by a link", ResultMessage),
    param(TokenParam),
    body(TokenFeedback, { limit: 200_000 }),
    async (c) => createFromToken(c, c.req.valid("param").token, c.req.valid("json")),
  );

async function createFromToken(c: Context<App>, token: string, given: TokenFeedback): Promise<Response> {
  await limitAddress(c, "feedback");
  await storeTokenFeedback(c.env, await findLiveToken(c.env, token), given);
  return c.json(THANKS, 200, { "cache-control": "no-store" });
}

function failurePage(problem: Problem) {
  return failedPage(problem.detail, problem.status);
}

/** The link was not followed: the request reads only the headers, or a browser preloads it. */
function onlyLooks(c: Context<App>): boolean {
  const purpose = c.req.header("sec-purpose") ?? c.req.header("purpose") ?? "";
  return c.req.method === "HEAD" || purpose.includes("prefetch");
}

/** A person who follows a link, not a program. */
function wantsPage(c: Context<App>): boolean {
  return c.req.header("accept")?.includes("text/html") ?? false;
}

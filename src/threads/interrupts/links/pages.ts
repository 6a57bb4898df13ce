/** The fields in which a question is answered, and what they say. They need no script. */
import { isObject, type Json, parseJson } from "../../../lib/json.ts";
import { html } from "hono/html";
import { type Html, htmlPage } from "../../../http/html.ts";
import { describeResponse, formatTime } from "../responses.ts";
import type { AcceptedResponse, LinkState as Standing } from "../../types.ts";

// The questions that LangChain's human-in-the-loop middleware asks: actions, each with the decisions that it allows.

const DECISIONS = ["approve", "edit", "reject", "respond"] as const;
export type DecisionType = (typeof DECISIONS)[number];

export interface ReviewAction {
  name: string;
  args: Json;
  description?: string;
  allowed: DecisionType[];
}

const DEFAULT_DECISIONS: DecisionType[] = ["approve", "edit", "reject"];

/** The actions to review, in either casing of their members; undefined for any other question. */
export function actionsIn(value: unknown): ReviewAction[] | undefined {
  if (!isObject(value)) return undefined;
  const requests = value.action_requests ?? value.actionRequests;
  if (!Array.isArray(requests) || requests.length === 0) return undefined;
  const reviews = [value.review_configs ?? value.reviewConfigs ?? []].flat().filter(isObject);
  return requests.map((one: unknown, index) => readAction(isObject(one) ? one : {}, reviews, index));
}

function readAction(request: Json, reviews: Json[], index: number): ReviewAction {
  const name = [request.name, request.action].find((one) => typeof one === "string") ?? "action";
  const review = reviews.find((one) => (one.action_name ?? one.actionName) === name) ?? reviews[index];
  const listed = review?.allowed_decisions ?? review?.allowedDecisions;
  const given = request.args ?? request.arguments;
  return {
    name,
    args: isObject(given) ? given : {},
    ...(typeof request.description === "string" && { description: request.description }),
    allowed: Array.isArray(listed) ? DECISIONS.filter((one) => listed.includes(one)) : DEFAULT_DECISIONS,
  };
}

/** What is not allowed of an answer to these actions. `only`: the types of decision that the link accepts. */
export function faultOfDecisions(
  actions: ReviewAction[],
  only: unknown[] | undefined,
  answer: unknown,
): string | undefined {
  const decisions = isObject(answer) ? answer.decisions : undefined;
  if (!Array.isArray(decisions) || decisions.length !== actions.length)
    return `Give {"decisions": […]} with ${actions.length === 1 ? "one decision" : `${actions.length} decisions`}.`;
  return actions.map((action, i) => checkDecision(action, only, decisions[i])).find((fault) => fault !== undefined);
}

function checkDecision(
  { name, allowed }: ReviewAction,
  only: unknown[] | undefined,
  decision: unknown,
): string | undefined {
  const { type, edited_action, message } = isObject(decision) ? decision : ({} as Json);
  const types = limitDecisions(allowed, only);
  if (!types.includes(type as DecisionType)) return `The decision on ${name} must be one of: ${types.join(", ")}.`;
  const isEdited = isObject(edited_action) && typeof edited_action.name === "string" && isObject(edited_action.args);
  if (type === "edit" && !isEdited) return `An edit of ${name} needs edited_action with name and args.`;
  if (type === "respond" && typeof message !== "string") return `A response to ${name} needs a message.`;
  if (message !== undefined && typeof message !== "string") return `The message about ${name} must be a text.`;
  return undefined;
}

/** The types of decision that an action and the link both allow. */
export const limitDecisions = (allowed: DecisionType[], only: unknown[] | undefined): DecisionType[] =>
  only ? allowed.filter((one) => only.includes(one)) : allowed;

/** Characters of a question that the page shows. */
const SHOWN = 50_000;

const VERBS: Record<DecisionType, string> = {
  approve: "Approve",
  edit: "Approve with these arguments",
  reject: "Reject",
  respond: "Respond with the message",
};

/** A card for each action. One action is decided by a button, several by choices that are sent together. */
export function actionFields(
  actions: ReviewAction[],
  only: unknown[] | undefined,
  given = new URLSearchParams(),
): Html {
  const cards = actions.map((action, index) => actionCard(action, index + 1, { actions, only, given }));
  const [first] = actions;
  if (actions.length > 1 || !first)
    return html`${cards}
      <div class="actions"><button class="primary">Send ${actions.length} decisions</button></div>`;
  const buttons = limitDecisions(first.allowed, only).map(
    (type, i) =>
      html`<button class="${i === 0 ? "primary" : ""}" name="decision_1" value="${type}">${VERBS[type]}</button>`,
  );
  return html`${cards}
    <div class="actions">${buttons}</div>`;
}

function actionCard(
  { name, args, description, allowed }: ReviewAction,
  n: number,
  { actions, only, given }: { actions: ReviewAction[]; only: unknown[] | undefined; given: URLSearchParams },
): Html {
  const types = limitDecisions(allowed, only);
  const shown = JSON.stringify(args, null, 2);
  const choices = types.map(
    (type) =>
      html`<label>
        <input
          type="radio"
          name="decision_${n}"
          value="${type}"
          required
          ${given.get(`decision_${n}`) === type ? "checked" : ""}
        />
        ${VERBS[type]}
      </label>`,
  );
  return html`<fieldset>
    <legend>${actions.length > 1 ? `${n}. ${name}` : name}</legend>
    ${description === undefined ? "" : html`<p>${clip(description)}</p>`}
    ${
      types.includes("edit")
        ? html`<label class="field">
            Arguments (JSON)
            <textarea name="args_${n}" rows="${Math.min(12, shown.split("\n").length + 1)}" spellcheck="false">
${given.get(`args_${n}`) ?? shown}</textarea>
          </label>`
        : html`<pre>${clip(shown)}</pre>`
    }
    ${
      types.includes("reject") || types.includes("respond")
        ? html`<label class="field">
            Message${types.includes("respond") ? "" : ", when you reject it"} (optional)
            <textarea name="message_${n}" rows="2" maxlength="10000">${given.get(`message_${n}`) ?? ""}</textarea>
          </label>`
        : ""
    }
    ${actions.length > 1 ? choices : ""}
  </fieldset>`;
}

/** The question, and a field for a text or for JSON, or a button for each answer that the link accepts. */
export function plainFields(value: unknown, only: unknown[] | undefined, given = new URLSearchParams()): Html {
  const isText = typeof value === "string";
  const asked = isText ? html`<p>${clip(value)}</p>` : html`<pre>${clip(JSON.stringify(value, null, 2) ?? "")}</pre>`;
  if (only) {
    const buttons = only.map((answer, index) => {
      const label = typeof answer === "string" ? answer : JSON.stringify(answer);
      return html`<button name="choice" value="${index}">${label}</button>`;
    });
    return html`${asked}
      <div class="actions">${buttons}</div>`;
  }
  const format = given.get("format") ?? (isText ? "text" : "json");
  const choice = (name: string, label: string) =>
    html`<label>
      <input type="radio" name="format" value="${name}" ${format === name ? "checked" : ""} />
      ${label}
    </label>`;
  return html`${asked}
    <label class="field">
      Your answer
      <textarea name="answer" rows="4" required>${given.get("answer") ?? ""}</textarea>
    </label>
    <fieldset>
      <legend>The answer is</legend>
      ${choice("text", "a text")} ${choice("json", "JSON, such as true, 3 or a list")}
    </fieldset>
    <div class="actions"><button class="primary">Send the answer</button></div>`;
}

const clip = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);

type Read = { answer: unknown } | { fault: string };

/** What the form says. */
export function readForm(
  form: URLSearchParams,
  actions: ReviewAction[] | undefined,
  only: unknown[] | undefined,
): Read {
  if (actions) return readDecisions(form, actions);
  if (only) {
    const choice = Number(form.get("choice") ?? NaN);
    return Number.isInteger(choice) && choice >= 0 && choice < only.length
      ? { answer: only[choice] }
      : { fault: "Choose one of the answers." };
  }
  const text = (form.get("answer") ?? "").replaceAll("\r\n", "\n");
  if (form.get("format") !== "json") return text === "" ? { fault: "Write an answer." } : { answer: text };
  const answer = parseJson(text);
  return answer === undefined ? { fault: "The answer is not JSON. A text is written in quotation marks." } : { answer };
}

function readDecisions(form: URLSearchParams, actions: ReviewAction[]): Read {
  const decisions: Json[] = [];
  for (const [index, { name }] of actions.entries()) {
    const n = index + 1;
    const type = form.get(`decision_${n}`);
    const message = (form.get(`message_${n}`) ?? "").replaceAll("\r\n", "\n");
    if (!type) return { fault: `Decide on ${name}.` };
    if (type === "respond" && message === "") return { fault: `Write a message about ${name}.` };
    if (type === "edit") {
      const args = parseJson(form.get(`args_${n}`) ?? "");
      if (args === undefined) return { fault: `The arguments of ${name} are not JSON.` };
      decisions.push({ type, edited_action: { name, args } });
    } else decisions.push({ type, ...(type !== "approve" && message !== "" && { message }) });
  }
  return { answer: { decisions } };
}

// What a person sees who follows a link to a question.

type WaitingLink = Extract<Standing, { state: "waits" }>;

/** The question as a card. `fault`: why what was given was not taken; it is shown again. */
export function responseFormPage(
  { link, value, graph_id }: WaitingLink,
  { fault, given, status = 200 }: { fault?: string; given?: URLSearchParams; status?: number } = {},
) {
  const actions = actionsIn(value);
  const fields = actions ? actionFields(actions, link.answers, given) : plainFields(value, link.answers, given);
  return hideFromSearch(
    htmlPage(
      "A question",
      html`<h1>${actions ? "The agent needs your decision" : "The agent has a question"}</h1>
        <p class="soft">
          Asked by the agent ${graph_id}. ${link.name === undefined ? "" : `This link was made for ${link.name}. `}It is
          valid until ${formatTime(link.expires)}.
        </p>
        ${fault === undefined ? "" : html`<p class="bad" role="alert">${fault}</p>`}
        <form method="post">${fields}</form>`,
      status,
    ),
  );
}

export function thanksPage() {
  return messagePage("Thank you", "Your answer is stored, and the agent continues. You can close this page.", 200);
}

/** For the one who comes second. */
export function earlierResponsePage(first: AcceptedResponse, status: number) {
  return messagePage("This question is answered", describeResponse(first), status);
}

export function messagePage(title: string, message: string, status: number) {
  const content: Html = html`<h1>${title}</h1>
    <p class="soft">${message}</p>`;
  return hideFromSearch(htmlPage(title, content, status));
}

/** The address is a secret: no search engine lists it. */
async function hideFromSearch(page: Response | Promise<Response>): Promise<Response> {
  const response = await page;
  response.headers.set("x-robots-tag", "noindex, nofollow");
  return response;
}

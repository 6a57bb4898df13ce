/** The fields in which a question is answered, and what they say. They need no script. */
import { html } from "hono/html";
import type { Html } from "../../../http/html.ts";
import { parseJson } from "../../../lib/json.ts";
import type { Json } from "../../../lib/json.ts";
import { type Action, limitDecisions, type DecisionType } from "../../../answers/review.ts";

/** Characters of a question that the page shows. */
const SHOWN = 50_000;

const VERBS: Record<DecisionType, string> = {
  approve: "Approve",
  edit: "Approve with these arguments",
  reject: "Reject",
  respond: "Respond with the message",
};

/** A card for each action. One action is decided by a button, several by choices that are sent together. */
export function actionFields(actions: Action[], only: unknown[] | undefined, given = new URLSearchParams()): Html {
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
  { name, args, description, allowed }: Action,
  n: number,
  { actions, only, given }: { actions: Action[]; only: unknown[] | undefined; given: URLSearchParams },
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
export function readForm(form: URLSearchParams, actions: Action[] | undefined, only: unknown[] | undefined): Read {
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

function readDecisions(form: URLSearchParams, actions: Action[]): Read {
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

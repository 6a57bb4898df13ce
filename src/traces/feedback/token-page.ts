/** What a person sees who follows a link for feedback in a browser. */
import { html } from "hono/html";
import type { FeedbackConfig } from "../projects/table.ts";
import { type Html, htmlPage } from "../../http/html.ts";
import type { TokenRow } from "../review/feedback/store.ts";

/** Without a config: the two answers that most keys are about. */
const THUMBS: FeedbackConfig = {
  type: "categorical",
  categories: [
    { value: 1, label: "Good" },
    { value: 0, label: "Bad" },
  ],
};

/** The form leads back to the link, now with what is given in its query. */
export function askPage({ key, config }: Pick<TokenRow, "key" | "config">) {
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

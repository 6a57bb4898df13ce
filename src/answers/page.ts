/** What a person sees who follows a link to a question. */
import { html } from "hono/html";
import { type Html, htmlPage } from "../http/html.ts";
import { describeFirst, formatTime } from "../threads/interrupts/responses.ts";
import type { FirstAnswer, Standing } from "../threads/answering.ts";
import { actionFields, plainFields } from "../threads/interrupts/links/pages.ts";
import { actionsIn } from "./review.ts";

type Waiting = Extract<Standing, { state: "waits" }>;

/** The question as a card. `fault`: why what was given was not taken; it is shown again. */
export function askPage(
  { link, value, graph_id }: Waiting,
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
export function answeredPage(first: FirstAnswer, status: number) {
  return messagePage("This question is answered", describeFirst(first), status);
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
